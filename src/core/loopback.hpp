#pragma once
// Tells whether a host is this machine, by its name or address alone.
#include <string_view>

namespace leasehold {

inline bool is_loopback(std::string_view host) noexcept {
    return host == "localhost" || host == "::1" || host.starts_with("127.");
}

}  // namespace leasehold
