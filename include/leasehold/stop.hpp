#pragma once
// One stop token for several reasons to stop.
//
//   leasehold::stop_when enough{*lease, shutting_down.get_token(), leasehold::also_when_revoked};
//   render(enough);  // takes a std::stop_token
//   if (enough.why() == leasehold::stop_cause::revoke_requested) lease->release();
//
// | state    | token()       | why()           | becomes                                          |
// |----------|---------------|-----------------|--------------------------------------------------|
// | going on | not requested | going_on        | stopped, by the first of: lost() of the lease or |
// |          |               |                 | session; a request of the token; and with        |
// |          |               |                 | also_when_revoked, revoke_requested()            |
// | stopped  | requested     | which was first | –                                                |
//
// Works with each object that has lost(): lease, multi_lease, quorum_lease, leadership, task_run,
// session; and so does wait_until_lost().
// Each lost() also fires when its owner gives the object back or ends it.
//
// Promises: the token is requested on the thread that makes the first of these requests, before
// that call returns; at once if one is made already: if several are, the first in the order
// above. No thread of its own.
// Does not promise: that work stops by itself; see lease.hpp.
// Errors: std::bad_alloc from the constructor.
//
// Threads: safe, and a callback may destroy it. It fires only while it is alive: its tokens may be
// kept for longer, and are not requested any more then. So a temporary gives no token.
#include <atomic>
#include <optional>
#include <stop_token>
#include <utility>

#include "leasehold/clock.hpp"
#include "leasehold/export.hpp"

namespace leasehold {

// One stop token for two. It does not say which of them was requested; ask them.
class either_stop {
public:
    either_stop(std::stop_token one, std::stop_token other)
        : one_(std::move(one), passing_on{&source_}),
          other_(std::move(other), passing_on{&source_}) {}
    either_stop(const either_stop&) = delete;
    either_stop& operator=(const either_stop&) = delete;

    std::stop_token token() const& noexcept { return source_.get_token(); }
    // It passes nothing on once it is gone.
    std::stop_token token() const&& = delete;

private:
    // A callback of `source` may destroy this.
    struct passing_on {
        std::stop_source* to;
        void operator()() const {
            std::stop_source source = *to;
            source.request_stop();
        }
    };

    std::stop_source source_;
    std::stop_callback<passing_on> one_, other_;
};

// A stop_when has asked to stop for one of these causes.
enum class stop_cause {
    going_on = 0,
    lost = 1,  // or released
    asked = 2,
    revoke_requested = 3,
};

// This tag makes a stop_when ask also if somebody requests the lease back.
struct also_when_revoked_t {};
inline constexpr also_when_revoked_t also_when_revoked{};

// This object asks to stop when a lease is lost, or when the caller's own token asks.
class stop_when {
public:
    template <class Held>
    explicit stop_when(const Held& held, std::stop_token asked = {})
        : lost_(held.lost(), passing_on{this, stop_cause::lost}),
          asked_(std::move(asked), passing_on{this, stop_cause::asked}) {}
    template <class Held>
    stop_when(const Held& held, std::stop_token asked, also_when_revoked_t)
        : stop_when(held, std::move(asked)) {
        revoked_.emplace(held.revoke_requested(), passing_on{this, stop_cause::revoke_requested});
    }
    stop_when(const stop_when&) = delete;
    stop_when& operator=(const stop_when&) = delete;

    std::stop_token token() const& noexcept { return source_.get_token(); }
    std::stop_token token() const&& = delete;
    operator std::stop_token() const& noexcept { return token(); }
    operator std::stop_token() const&& = delete;
    stop_cause why() const noexcept { return why_; }

private:
    struct passing_on {
        stop_when* to;
        stop_cause why;
        void operator()() const {
            std::stop_source source = to->source_;
            auto before = stop_cause::going_on;
            to->why_.compare_exchange_strong(before, why);
            source.request_stop();
        }
    };

    std::stop_source source_;
    std::atomic<stop_cause> why_{stop_cause::going_on};
    std::stop_callback<passing_on> lost_, asked_;
    std::optional<std::stop_callback<passing_on>> revoked_;
};

// Waits until `lost` is requested, until that time, or until `cancel` is requested. Returns true if
// `lost` was requested.
LEASEHOLD_EXPORT bool wait_until_requested(
    const std::stop_token& lost, wait_deadline deadline, const std::stop_token& cancel = {}
);

// The same until lost() of the object fires; for a program that only holds.
template <class Held>
bool wait_until_lost(const Held& held, wait_deadline deadline, const std::stop_token& cancel = {}) {
    return wait_until_requested(held.lost(), deadline, cancel);
}

}  // namespace leasehold
