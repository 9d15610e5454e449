#pragma once
// What is said of a lock, and of whoever has it.
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "leasehold/lock_info.hpp"

namespace leasehold::cli {

nlohmann::json json_of(const lock_info& lock);

// In a few words: how its holder has the key, and how much of it is left.
std::string shown_kind(const lock_info& lock);

// "3 of 4 arrived"
std::string shown_arrivals(const lock_info& latch);

}  // namespace leasehold::cli
