#include "driver/mysql_sockets.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

namespace leasehold::mysql {
namespace {

bool leads_to(int descriptor, const address& server) {
    sockaddr_storage peer{};
    socklen_t size = sizeof peer;
    auto* const any = reinterpret_cast<sockaddr*>(&peer);  // NOLINT(*-reinterpret-cast)
    if (::getpeername(descriptor, any, &size) != 0) return false;
    const auto as = [&](auto kind) {
        std::memcpy(&kind, &peer, sizeof kind);
        return kind;
    };
    switch (peer.ss_family) {
        case AF_INET:
            return ntohs(as(sockaddr_in{}).sin_port) == server.port;
        case AF_INET6:
            return ntohs(as(sockaddr_in6{}).sin6_port) == server.port;
        case AF_UNIX: {
            const auto path = as(sockaddr_un{});
            const std::size_t most =
                size - std::min<std::size_t>(size, offsetof(sockaddr_un, sun_path));
            return !server.socket.empty() &&
                   std::string_view{path.sun_path, strnlen(path.sun_path, most)} == server.socket;
        }
        default:
            return false;
    }
}

}  // namespace

// The link in /proc tells a socket from the one that had its number before, and touches nothing
// that another thread uses.
std::map<int, std::string> sockets_to(const address& server) {
    std::map<int, std::string> found;
    std::error_code none;
    std::filesystem::directory_iterator each{"/proc/self/fd", none};
    for (; each != std::filesystem::directory_iterator{}; each.increment(none)) {
        const int descriptor = std::atoi(each->path().filename().c_str());
        std::error_code is_closed;
        const std::string link = std::filesystem::read_symlink(each->path(), is_closed);
        if (link.starts_with("socket:") && leads_to(descriptor, server)) {
            found.emplace(descriptor, link);
        }
    }
    return found;
}

void close_new_at_exec(const address& server, const std::map<int, std::string>& before) {
    for (const auto& [descriptor, link] : sockets_to(server)) {
        const auto known = before.find(descriptor);
        if (known != before.end() && known->second == link) continue;
        const int flags = ::fcntl(descriptor, F_GETFD);                    // NOLINT(*-vararg)
        if (flags >= 0) ::fcntl(descriptor, F_SETFD, flags | FD_CLOEXEC);  // NOLINT(*-vararg)
    }
}

}  // namespace leasehold::mysql
