#include "core/program_name.hpp"

#include <algorithm>
#include <cerrno>  // declares glibc's program_invocation_short_name

#include "core/utf8.hpp"
#include "leasehold/identity.hpp"

namespace leasehold {

std::string program_name() {
    return program_invocation_short_name;
}

std::string connection_name(std::string_view name) {
    constexpr std::size_t max_bytes = 63;
    std::string whole =
        node_info_of_this_process(name.empty() ? program_name() : std::string{name});
    if (whole.size() <= max_bytes) return whole;
    const auto at = whole.rfind('@');
    const std::string where = whole.substr(at);
    const std::size_t left = max_bytes - std::min(max_bytes, where.size());
    return std::string{cut_utf8(whole.substr(0, at), left)} + where;
}

}  // namespace leasehold
