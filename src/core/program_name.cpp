#include "core/program_name.hpp"

#include <cerrno>  // declares glibc's program_invocation_short_name

namespace leasehold {

std::string program_name() {
    return program_invocation_short_name;
}

}  // namespace leasehold
