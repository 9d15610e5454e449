// Client libraries open sockets that a child would inherit, and that of MySQL's library has logged
// in. The libraries find this function before that of the C library, so in this program each socket
// is made to be closed at exec.
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

extern "C" __attribute__((visibility("default"))) int socket(
    int domain, int type, int protocol
) noexcept {
    return static_cast<int>(syscall(SYS_socket, domain, type | SOCK_CLOEXEC, protocol));
}
