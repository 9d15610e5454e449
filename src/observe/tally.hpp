#pragma once
// The counts of events for the counting observer, under one label of a key or under none: a counter
// for each kind and reason, and histograms of times. And the names under which they are printed.
//
// Threads: safe; without locks.
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "leasehold/observer.hpp"

namespace leasehold {

using time_bounds = std::vector<std::chrono::nanoseconds>;

// The counters of one kind of event.
struct counted_family {
    std::size_t slot;
    const char* name;
    const char* help;
    std::span<const event_reason> reasons;  // none: without a label, whatever the reason
    bool is_of_keys;
};
std::span<const counted_family> counted_families() noexcept;

// The series of the histograms, and how each is labelled.
enum class timed : std::size_t {
    wait_granted = 0,
    wait_timed_out = 1,
    wait_cancelled = 2,
    hold_released = 3,
    hold_lost = 4,
    connection_granted = 5,
    connection_timed_out = 6,
    connection_cancelled = 7,
};
struct timed_series {
    timed which;
    const char* outcome;
};
struct timed_family {
    const char* name;
    const char* help;
    std::span<const timed_series> series;
    bool is_of_keys;
};
std::span<const timed_family> timed_families() noexcept;

class time_histogram {
public:
    explicit time_histogram(const time_bounds& bounds) : counts_(bounds.size() + 1) {}

    void add(const time_bounds& bounds, std::chrono::nanoseconds took) noexcept;
    std::uint64_t count(std::size_t bucket) const noexcept {
        return counts_[bucket].load(std::memory_order_relaxed);
    }
    std::chrono::nanoseconds sum() const noexcept {
        return std::chrono::nanoseconds{sum_.load(std::memory_order_relaxed)};
    }

private:
    std::vector<std::atomic<std::uint64_t>> counts_;
    std::atomic<std::uint64_t> sum_{0};
};

class tally {
public:
    explicit tally(const time_bounds& bounds LEASEHOLD_LIFETIMEBOUND);

    void add(const event& what) noexcept;
    std::uint64_t count(const counted_family& of, event_reason why) const noexcept;
    const time_histogram& time(timed which) const noexcept {
        return times_[static_cast<std::size_t>(which)];
    }
    bool has_any(const counted_family& of) const noexcept;
    bool has_any(const timed_family& of) const noexcept;

private:
    static constexpr std::size_t kinds_count = 23, reasons_count = 30;

    const time_bounds& bounds_;
    std::array<std::array<std::atomic<std::uint64_t>, reasons_count>, kinds_count> counts_{};
    std::deque<time_histogram> times_;  // a deque does not move them
};

}  // namespace leasehold
