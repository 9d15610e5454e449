#include "leasehold/identity.hpp"

#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <ostream>

#include "core/hexadecimal.hpp"
#include "core/utf8.hpp"
#include "leasehold/error.hpp"

namespace leasehold {

identity identity::random() {
    identity made;
    std::size_t filled = 0;
    while (filled < size_bytes) {
        const ssize_t got = getrandom(made.bytes_.data() + filled, size_bytes - filled, 0);
        if (got > 0) {
            filled += static_cast<std::size_t>(got);
        } else if (errno != EINTR) {
            throw error(
                errc::unsupported, "the operating system gives no random bytes (getrandom)"
            );
        }
    }
    return made;
}

identity identity::from_bytes(std::string_view bytes) {
    if (bytes.size() != size_bytes) {
        throw error(errc::invalid_argument, "an identity has 16 bytes");
    }
    identity made;
    std::copy(bytes.begin(), bytes.end(), made.bytes_.begin());
    return made;
}

identity identity::from_text(std::string_view hexadecimal) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string bytes;
    for (std::size_t at = 0; at + 1 < hexadecimal.size(); at += 2) {
        const auto high = digits.find(hexadecimal[at]);
        const auto low = digits.find(hexadecimal[at + 1]);
        if (high == std::string_view::npos || low == std::string_view::npos) break;
        bytes += static_cast<char>(high * 16 + low);
    }
    if (bytes.size() != size_bytes || hexadecimal.size() != 2 * size_bytes) {
        throw error(errc::invalid_argument, "an identity is written as 32 lower-case hex digits");
    }
    return from_bytes(bytes);
}

std::string identity::text() const {
    return in_hexadecimal(bytes());
}

std::ostream& operator<<(std::ostream& out, const identity& id) {
    return out << id.text();
}

std::string to_string(fencing_token token) {
    return std::to_string(token.number);
}
std::ostream& operator<<(std::ostream& out, fencing_token token) {
    return out << token.number;
}

std::string node_info_of_this_process(std::string_view name) {
    constexpr std::size_t max_name_bytes = 100;
    char host[HOST_NAME_MAX + 1] = "unknown";
    if (gethostname(host, sizeof host - 1) != 0) host[0] = '\0';
    const std::string shown{cut_utf8(printable_utf8(name), max_name_bytes)};
    return shown + '@' + printable_utf8(host) + ':' + std::to_string(getpid());
}

}  // namespace leasehold
