#pragma once
// What is said of a lock, of whoever has it or waits for it, and of the jobs of a queue.
#include <array>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "cli/output.hpp"
#include "leasehold/job_queue.hpp"
#include "leasehold/lock_info.hpp"

namespace leasehold::cli {

nlohmann::json json_of(const lock_info& lock);

// What is the same of each line of a list, and of the doctor's: who waits, and since when.
nlohmann::json json_of(const waiter_info& waiter);

// All states of jobs, in the order of a table.
inline constexpr std::array states_shown{
    job_state::available,
    job_state::running,
    job_state::scheduled,
    job_state::retryable,
    job_state::blocked,
    job_state::completed,
    job_state::discarded,
    job_state::cancelled};
std::int64_t count_in(const queue_info& queue, job_state state);

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
