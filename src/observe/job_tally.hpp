#pragma once
// The counts of jobs for the counting observer, by queue and kind: starts, ends by outcome, and the
// times of handlers and waits.
//
// Threads: safe.
#include <algorithm>
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
        : bounds_(bounds), waited_(bounds), ran_(bounds) {}

    static bool counts(event_kind what) noexcept {
        return what == event_kind::job_started || what == event_kind::job_ended ||
               (what >= event_kind::job_enqueued && what <= event_kind::job_timed_out);
    }
    void add(const event& what) noexcept;
    // The number of events of one of these kinds.
    std::uint64_t count(event_kind of) const noexcept { return slot(of).load(relaxed); }
    // Jobs that have started and whose ends are not told.
    std::int64_t in_flight() const noexcept {
        return std::max<std::int64_t>(in_flight_.load(relaxed), 0);
    }
    // `at`: the index in `outcomes`.
    std::uint64_t ended(std::size_t at) const noexcept {
        return ended_.at(at).load(std::memory_order_relaxed);
    }
    const time_histogram& waited() const noexcept { return waited_; }
    const time_histogram& ran() const noexcept { return ran_; }
    // The attempts that each job took whose end was final: a number stands as so many nanoseconds.
    const time_histogram& attempts() const noexcept { return attempts_; }
    static const time_bounds& attempt_bounds() noexcept;

private:
    static constexpr auto relaxed = std::memory_order_relaxed;
    using counter = std::atomic<std::uint64_t>;

    const counter& slot(event_kind of) const noexcept {
        return counts_.at(static_cast<std::size_t>(of) - first_slot);
    }

    static constexpr auto first_slot = static_cast<std::size_t>(event_kind::job_started);
    const time_bounds& bounds_;
    std::array<counter, static_cast<std::size_t>(event_kind::job_timed_out) - first_slot + 1>
        counts_{};
    std::atomic<std::int64_t> in_flight_ = 0;
    std::array<counter, outcomes.size()> ended_{};
    time_histogram waited_, ran_, attempts_{attempt_bounds()};
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
