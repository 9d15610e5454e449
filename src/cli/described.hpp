#pragma once
// What is said of a lock, and of whoever has it.
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "cli/output.hpp"
#include "leasehold/lock_info.hpp"

namespace leasehold::cli {

nlohmann::json json_of(const lock_info& lock);

// In a few words: how its holder has the key, and how much of it is left.
std::string shown_kind(const lock_info& lock);

// Of the table of locks, and a row of it; of a key that is free its last holder.
std::vector<std::string> lock_heading();
std::vector<cell> row_of(const lock_info& lock);

// ": the words of its holder"; nothing where there are none.
std::string shown_note(const lock_info& lock);

// "3 of 4 arrived"
std::string shown_arrivals(const lock_info& latch);

}  // namespace leasehold::cli
