// Client libraries open sockets that a child would inherit; the one of MySQL's has logged in. In
// this program each is closed at exec from its birth: the libraries find this function before that
// of the C library.
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

extern "C" __attribute__((visibility("default"))) int socket(
    int domain, int type, int protocol
) noexcept {
    return static_cast<int>(syscall(SYS_socket, domain, type | SOCK_CLOEXEC, protocol));
}
