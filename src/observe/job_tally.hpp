#pragma once
// The counts of jobs for the counting observer, by queue and kind: starts, ends by outcome, and the
// times of handlers.
//
// Threads: safe.
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "leasehold/export.hpp"
#include "observe/tally.hpp"
#include "observe/tally_table.hpp"

namespace leasehold {

class job_tally {
public:
    static constexpr std::array outcomes{
        event_reason::completed,
        event_reason::retried,
        event_reason::snoozed,
        event_reason::released,
        event_reason::discarded,
        event_reason::cancelled,
        event_reason::lost,
        event_reason::unknown};

    explicit job_tally(const time_bounds& bounds LEASEHOLD_LIFETIMEBOUND)
        : bounds_(bounds), ran_(bounds) {}

    static bool counts(event_kind what) noexcept {
        return what == event_kind::job_started || what == event_kind::job_ended;
    }
    void add(const event& what) noexcept;
    std::uint64_t started() const noexcept { return started_.load(std::memory_order_relaxed); }
    // `at`: the index in `outcomes`.
    std::uint64_t ended(std::size_t at) const noexcept {
        return ended_.at(at).load(std::memory_order_relaxed);
    }
    const time_histogram& ran() const noexcept { return ran_; }

private:
    const time_bounds& bounds_;
    std::atomic<std::uint64_t> started_ = 0;
    std::array<std::atomic<std::uint64_t>, outcomes.size()> ended_{};
    time_histogram ran_;
};

// By queue and kind.
using job_names = std::pair<std::string, std::string>;
struct order_of_job_names {
    using is_transparent = void;
    using views = std::pair<std::string_view, std::string_view>;
    bool operator()(const views& one, const views& other) const noexcept { return one < other; }
};
using job_tallies = tally_table<job_names, job_tally, order_of_job_names>;

}  // namespace leasehold
