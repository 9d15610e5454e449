#include "leasehold/key.hpp"

#include <ostream>

#include "core/utf8.hpp"
#include "leasehold/error.hpp"

namespace leasehold {

key::key(std::string_view name) : name_(name) {
    if (name.empty()) {
        throw error(errc::invalid_argument, "a key must not be empty; name the thing to lock");
    }
    if (name.size() > max_bytes) {
        throw error(
            errc::invalid_argument,
            "a key of " + std::to_string(name.size()) + " bytes is too long; the limit is " +
                std::to_string(max_bytes) + ", lock a hash of it instead"
        );
    }
    if (name.find('\0') != std::string_view::npos) {
        throw error(errc::invalid_argument, "a key must not contain a NUL byte");
    }
    if (!is_utf8(name)) {
        throw error(errc::invalid_argument, "a key must be UTF-8; encode other bytes first");
    }
}

std::ostream& operator<<(std::ostream& out, const key& name) {
    return out << name.name();
}

}  // namespace leasehold
