#include "locks/not_granted.hpp"

#include "leasehold/error.hpp"

namespace leasehold {

void throw_not_granted(const std::string& wanted, const std::string& why) {
    throw error(
        errc::busy,
        "no lease on '" + wanted + "' was acquired" + (why.empty() ? "" : ": " + why) +
            "; look whether there is a lease before using it"
    );
}

}  // namespace leasehold
