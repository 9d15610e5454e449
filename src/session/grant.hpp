#pragma once
// One grant of one key as this process knows it: the database's answer, and whether it still
// counts. Leases are handles to it; its session watches it.
//
// Threads: safe; the first loss wins.
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>

#include "core/thread_mutex.hpp"
#include "leasehold/clock.hpp"
#include "leasehold/observer.hpp"
#include "leasehold/session.hpp"
#include "locks/hold_store.hpp"

namespace leasehold {

class grant {
public:
    grant(hold what, std::optional<local_clock::time_point> term_end)
        : what_(std::move(what)),
          has_term_(term_end.has_value()),
          term_end_(term_end.value_or(local_clock::time_point{}).time_since_epoch().count()) {}

    const hold& what() const noexcept { return what_; }
    // The time for which this process has had it.
    local_clock::duration age() const noexcept { return local_clock::now() - since_; }
    // Set if held for a fixed term; otherwise the session's deadline is this grant's.
    std::optional<local_clock::time_point> term_end() const noexcept {
        if (!has_term_) return std::nullopt;
        return at(term_end_);
    }
    // Only the session calls this, because it keeps its grants in the order of their ends.
    void set_term_end(local_clock::time_point end) noexcept {
        term_end_ = end.time_since_epoch().count();
    }

    // A limit that this process keeps on a hold that lives with its session: the hold is lost at
    // `told`, or with the session; and the session gives it back when `over` has come.
    struct limit {
        local_clock::time_point told;
        local_clock::time_point over;
    };
    std::optional<limit> limited() const noexcept {
        if (limit_told_ == 0) return std::nullopt;
        return limit{at(limit_told_), at(limit_over_)};
    }
    // Called before a lease of it exists, or as set_term_end() is.
    void set_limit(const limit& to) noexcept {
        limit_told_ = to.told.time_since_epoch().count();
        limit_over_ = to.over.time_since_epoch().count();
    }

    // The time when it is lost though its session may live.
    std::optional<local_clock::time_point> own_end() const noexcept {
        if (const auto end = term_end()) return end;
        const auto kept_here = limited();
        return kept_here ? std::optional{kept_here->told} : std::nullopt;
    }

    // The reason why it is over at that time; `of_session` is the reason why its session is.
    loss_reason loss_at(local_clock::time_point now, loss_reason of_session) const noexcept {
        if (!has_term_ && of_session != loss_reason::none) return of_session;
        const auto end = own_end();
        return end && now >= *end ? loss_reason::expired : loss_reason::none;
    }

    loss_reason reason() const noexcept { return reason_; }
    bool is_live() const noexcept { return reason_ == loss_reason::none; }
    std::stop_token lost() const noexcept { return lost_.get_token(); }

    // True if the grant was not lost before. Runs the callbacks registered with lost().
    bool lose(loss_reason why) {
        if (!mark_lost(why)) return false;
        tell_lost();
        return true;
    }
    // The two halves of lose(), for a caller that unlocks a mutex in between.
    bool mark_lost(loss_reason why) noexcept {
        auto expected = loss_reason::none;
        return reason_.compare_exchange_strong(expected, why);
    }
    void tell_lost() { lost_.request_stop(); }

    // Asks the holder to release. True if this is the first request.
    bool ask_back() { return revoke_.request_stop(); }
    std::stop_token revoke_requested() const noexcept { return revoke_.get_token(); }

    // The number of leases that stand on it: the row's reentrant_count, unless an answer was lost.
    struct levels {
        thread_mutex mutex;
        int count LEASEHOLD_GUARDED_BY(mutex) = 1;
        bool is_uncertain LEASEHOLD_GUARDED_BY(mutex) = false;
    };
    levels& depth() noexcept { return depth_; }

    // True when another thread may enter it once more. Set before anybody can have a lease of it.
    std::atomic<bool>& is_recursive() noexcept { return is_recursive_; }
    bool is_recursive() const noexcept { return is_recursive_; }

    // For keys that several can hold: only a downgrade changes it.
    std::atomic<hold_mode>& mode() noexcept { return mode_; }
    // For a semaphore: the number of permits it has; smaller once some were given back.
    std::atomic<std::int64_t>& permits() noexcept { return permits_; }

private:
    static local_clock::time_point at(local_clock::rep count) noexcept {
        return local_clock::time_point{local_clock::duration{count}};
    }

    const hold what_;
    const local_clock::time_point since_ = local_clock::now();
    const bool has_term_;
    std::atomic<local_clock::rep> term_end_;
    std::atomic<local_clock::rep> limit_told_{0};  // 0: none
    std::atomic<local_clock::rep> limit_over_{0};
    std::atomic<loss_reason> reason_{loss_reason::none};
    std::stop_source lost_;
    std::stop_source revoke_;
    levels depth_;
    std::atomic<bool> is_recursive_{false};
    std::atomic<hold_mode> mode_{hold_mode::exclusive};
    std::atomic<std::int64_t> permits_{1};
};

// Both enumerations have the same numbers for the same reasons. Nobody is told of other_process.
inline event_reason reason_of(loss_reason why) noexcept {
    return static_cast<event_reason>(why);
}

// The event of a lost grant; it refers to the grant.
inline event loss_of(const grant& which, loss_reason why) noexcept {
    const hold& what = which.what();
    return {
        event_kind::lost,
        what.key.name(),
        what.token.number,
        name_of(why),
        reason_of(why),
        which.age()};
}

}  // namespace leasehold
