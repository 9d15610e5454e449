#pragma once
// The counts of jobs for the counting observer, by queue and kind: starts, ends by outcome, and the
// times of handlers.
//
// Threads: safe. A lock is held while a queue and a kind are looked up.
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/thread_mutex.hpp"
#include "observe/tally.hpp"

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

    explicit job_tally(const time_bounds& bounds) : bounds_(bounds), ran_(bounds) {}

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

class job_tallies {
public:
    job_tallies(const time_bounds& bounds, std::size_t most)
        : bounds_(bounds), most_(most), other_(bounds) {}

    static bool is_counted_here(event_kind what) noexcept {
        return what == event_kind::job_started || what == event_kind::job_ended;
    }
    void add(const event& what) noexcept { tally_of(what).add(what); }

    struct labelled {
        std::string_view queue, kind;
        const job_tally* counts;
    };
    // A tally keeps its address, and is never removed.
    std::vector<labelled> all() const;

private:
    using names = std::pair<std::string_view, std::string_view>;
    struct in_order {
        using is_transparent = void;
        bool operator()(const names& one, const names& other) const noexcept { return one < other; }
    };
    job_tally& tally_of(const event& what) noexcept;

    const time_bounds& bounds_;
    const std::size_t most_;
    job_tally other_;
    std::atomic<bool> has_other_ = false;
    mutable thread_mutex mutex_;
    std::map<std::pair<std::string, std::string>, job_tally, in_order> tallies_
        LEASEHOLD_GUARDED_BY(mutex_);
};

}  // namespace leasehold
