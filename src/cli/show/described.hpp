#pragma once
// The descriptions of a lock, of its holders and waiters, and of the jobs of a queue.
#include <array>
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "cli/output.hpp"
#include "leasehold/job_queue.hpp"
#include "leasehold/lock_info.hpp"

namespace leasehold::cli {

nlohmann::json json_of(const lock_info& lock);

// The part that each line of a list and of the doctor shares: who waits, and since when.
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

// The number of those in that state; 0 if none is named.
template <class State>
std::int64_t count_in(const std::map<State, std::int64_t>& counts, State state) {
    const auto found = counts.find(state);
    return found == counts.end() ? 0 : found->second;
}

// A few words about how the holder has the key, and for how long it still has it.
std::string shown_kind(const lock_info& lock);

// The heading of the table of locks, and a row of it; a free key's row shows its last holder.
std::vector<std::string> lock_heading();
std::vector<cell> row_of(const lock_info& lock);

// ": the note of its holder"; empty if there is none.
std::string shown_note(const lock_info& lock);

// "3 of 4 arrived"
std::string shown_arrivals(const lock_info& latch);

}  // namespace leasehold::cli
