#include "driver/mysql_password_guard.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>
#include <string_view>

#include "leasehold/error.hpp"

namespace leasehold::mysql {
namespace {

// None of these gives the password to a server that asks for it: it is scrambled by data from the
// server, or encrypted, or signed for, or there is none.
constexpr std::string_view allowed =
    "[leasehold-connection]\n"
    "restricted-auth=mysql_native_password,caching_sha2_password,sha256_password,client_ed25519,"
    "parsec,auth_gssapi_client\n";

// True when nobody is in between: the machine itself, or a server that has shown who it is.
bool is_trusted(const address& to) {
    return !to.socket.empty() || to.tls == tls_mode::verify_identity;
}

}  // namespace

password_guard::password_guard(sql::ConnectOptionsMap& options, const address& to) {
    if (has_ssl_mode || is_trusted(to)) return;
    file_ = memfd_create("leasehold-connection", MFD_CLOEXEC);
    // A container's filter may refuse memfd_create.
    if (file_ < 0) file_ = ::open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    const std::string path = "/proc/self/fd/" + std::to_string(file_);
    const bool is_there =
        file_ >= 0 &&
        write(file_, allowed.data(), allowed.size()) == static_cast<ssize_t>(allowed.size()) &&
        access(path.c_str(), R_OK) == 0;
    if (!is_there) {
        if (file_ >= 0) close(file_);
        throw error{
            errc::connection_failed,
            "the client library cannot be kept from sending the password in clear: that needs "
            "/proc and /tmp; or use ssl-mode=VERIFY_IDENTITY"};
    }
    options["readDefaultFile"] = sql::SQLString{path};
    options["readDefaultGroup"] = sql::SQLString{"leasehold-connection"};
}

password_guard::~password_guard() {
    if (file_ >= 0) close(file_);
}

}  // namespace leasehold::mysql
