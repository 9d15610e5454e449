#pragma once
// All that the threads of a session share: whether it lives, its grants, and its requests.
//
// One mutex guards it, because most decisions need several of these members as they are at one
// instant. With the mutex held, no thread sends a request or runs a callback.
//
// Threads: safe, but for `id`.
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>
#include <vector>

#include "core/thread_mutex.hpp"
#include "database/database.hpp"
#include "leasehold/session.hpp"
#include "locks/waiter_store.hpp"
#include "session/ended_holds.hpp"
#include "session/grant_watch.hpp"
#include "session/in_doubt_requests.hpp"

namespace leasehold {

struct session_state {
    using lost_grant = grant_list::lost_grant;

    session_state(leasehold::database within, session_settings given, const session_id& own)
        : handle(std::move(within)),
          settings(completed(std::move(given))),
          id(own),
          grants(settings) {}

    leasehold::database::implementation& database() const { return *handle.inner(); }
    lease_machine lease() const {
        const thread_guard guard{mutex};
        return grants.lease();
    }
    std::vector<std::shared_ptr<grant>> watched() const {
        const thread_guard guard{mutex};
        return grants.live();
    }

    // The time until which a thread has nothing to do, unless `changes` moves on from what it was.
    struct nap {
        local_clock::time_point until;
        std::uint64_t changes;
    };
    // Tells the losses up to now. Nullopt, and does nothing, if the session has ended and there is
    // nothing left to watch.
    std::optional<nap> watch_step();
    // Compares the clock with every deadline, and tells the holders that lost. Called without the
    // mutex, because callbacks may do anything.
    void tell_losses() LEASEHOLD_EXCLUDES(mutex);
    void tell(const std::vector<lost_grant>& losses, bool session_is_lost, loss_reason why)
        LEASEHOLD_EXCLUDES(mutex);

    void sleep(const nap& pause, const std::stop_token& stop);
    void wake_all() LEASEHOLD_EXCLUDES(mutex);

    // See session::implementation::gave_up().
    void gave_up(const key& name, const owner_id& owner, lock_kind kind, std::int64_t ticket = 0);
    void remember(ended_hold what) LEASEHOLD_REQUIRES(mutex);

    // The holds that an end() has to look for; nullopt if they are more than one statement can ask
    // about.
    std::optional<std::vector<waiter_id>> last_had() const;

    // A fixed term outlives its session, and is watched until the last lease of it is released.
    bool has_nothing_left() const LEASEHOLD_REQUIRES(mutex) {
        return has_ended && grants.is_empty() && under_way == 0;
    }
    // A request or a hold that end() does not see may need the row.
    bool may_need_row() const LEASEHOLD_REQUIRES(mutex) {
        return keeps_row || in_doubt.were_any() || under_way != 0;
    }

    const leasehold::database handle;
    const session_settings settings;
    session_id id;  // does not change any more once the session has begun
    std::stop_source lost;
    std::stop_source over;
    std::stop_source ending;  // its owner ends it: the heartbeat need not connect any more
    std::atomic<bool> takes_row_along = false;

    mutable thread_mutex mutex;
    std::condition_variable_any changed;
    // Counts changes of anything that a sleeping thread might wait for.
    std::uint64_t changes LEASEHOLD_GUARDED_BY(mutex) = 0;
    grant_watch grants LEASEHOLD_GUARDED_BY(mutex);
    // The number of times when there was other news than before.
    std::int64_t times_news LEASEHOLD_GUARDED_BY(mutex) = 0;
    // Grants may have been lost since they were watched; at first there are no known notices to
    // compare with.
    bool must_ask LEASEHOLD_GUARDED_BY(mutex) = true;
    bool has_ended LEASEHOLD_GUARDED_BY(mutex) = false;
    int under_way LEASEHOLD_GUARDED_BY(mutex) = 0;  // see session::implementation::under_way
    in_doubt_requests in_doubt LEASEHOLD_GUARDED_BY(mutex);
    bool keeps_row LEASEHOLD_GUARDED_BY(mutex) = false;
    ended_holds given_up LEASEHOLD_GUARDED_BY(mutex);  // in the last two ttl
};

}  // namespace leasehold
