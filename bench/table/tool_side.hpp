#pragma once
// Short programs: `leasehold lock KEY -- true`, and beside it `flock FILE true`.
#include <memory>

#include "bench/workload.hpp"

namespace leasehold::bench {

std::unique_ptr<side> make_tool_side(const place& where);
std::unique_ptr<side> make_flock_side(const std::string& file);

}  // namespace leasehold::bench
