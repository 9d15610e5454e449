#pragma once
// Opens once, when count() participants have arrived, in any processes. A participant that dies
// before it arrives does not count.
//
//   leasehold::latch loaded{session, "import/2026-10/loaded", 4};
//   if (auto mine = loaded.try_join()) {  // in each of the four loaders
//       load(part);
//       loaded.arrive(std::move(*mine));
//   }
//   if (loaded.wait_for(1h).is_open) publish();  // in each later program
//
// | a place is …           | try_join() counts it | arrive(lease)         | its process dies      |
// |------------------------|----------------------|-----------------------|-----------------------|
// | nobody's               | yes: a lease on it   | –                     | –                     |
// | of a live participant  | no                   | arrived, for good     | nobody's again        |
// | of a dead participant  | as nobody's          | lease_lost            | –                     |
// | arrived                | no                   | –                     | stays arrived         |
//
// | the latch is …               | try_join() | wait_for()       | becomes              |
// |------------------------------|------------|------------------|----------------------|
// | closed, places left          | a lease    | waits            | –                    |
// | closed, all taken or arrived | busy       | waits            | open with the last   |
// | open: count() have arrived   | busy       | is_open, at once | closed by force only |
//
// Promises: it opens when count() participants have arrived, each in a place of its own, and not
// before. An arrival and the end of its lease are one commit, so that none counts twice or is lost.
// A participant that dies before it arrived does not count: its place is free when its session's
// TTL has passed, for another to join and do its part. Waiters see that in tally(): `present` goes
// down.
// Does not promise: that anybody takes the place of a dead participant. A wait goes on when no
// participant is left, since a place can be taken at any time.
//
// An open latch stays open; force_release() (or `leasehold unlock --force`) closes it and forgets
// all. The reaper forgets a latch nobody joined or arrived at for its lock_retention.
// count() belongs to the key while anybody has joined or arrived, as the permits of a semaphore do.
// Waiting asks again at jittered intervals. A call that was asked to stop before it began answers
// with an empty tally at once, and asks nothing; in an outage it ends as a waiting call of a mutex.
// Source: std::latch, with arrivals that are leased until they are made.
//
// Threads: distinct objects, safe; one latch object, safe.
// Errors: invalid_argument for a count that is not 1 to max_count, a bad key or setting, a lease of
// another key, and a key in use as another kind or with another count.
#include <chrono>
#include <cstdint>
#include <memory>
#include <stop_token>

#include "leasehold/export.hpp"
#include "leasehold/handle.hpp"
#include "leasehold/key.hpp"
#include "leasehold/lease.hpp"
#include "leasehold/session.hpp"
#include "leasehold/whole_count.hpp"

namespace leasehold {

// A waiter asks the database at these intervals whether the latch is open.
struct latch_settings {
    std::chrono::milliseconds min_poll{10};   // 1 ms to max_poll
    std::chrono::milliseconds max_poll{250};  // min_poll to 1 h
};

// A latch counts by this who has come.
struct latch_tally {
    std::int64_t arrived = 0;
    std::int64_t present = 0;  // joined, live, and not arrived
    bool is_open = false;
};

class LEASEHOLD_EXPORT latch {
public:
    static constexpr std::int64_t max_count = 1'000'000'000;

    latch(session& within, leasehold::key name, whole_count count, latch_settings settings = {});
    latch(latch&&) noexcept;
    latch& operator=(latch&&) noexcept;
    ~latch();

    // Takes a place among the participants; busy if all are taken. Its lease proves, in
    // verify_in(tx), that the place is still ours; releasing the lease frees the place.
    acquisition try_join();

    // Arrives, and spends the lease. Throws lease_lost if the place is no longer ours. An error
    // whose outcome_is_unknown() leaves the lease: tally() and its verify() tell.
    void arrive(lease&& place);

    [[nodiscard]] latch_tally tally();
    // Waits for the latch to open: for `timeout`, or until cancelled. The session need not be
    // live.
    [[nodiscard]] latch_tally wait_for(wait_time timeout, std::stop_token cancel = {});
    [[nodiscard]] latch_tally wait_until(wait_deadline deadline, std::stop_token cancel = {});
    [[nodiscard]] latch_tally wait(std::stop_token cancel = {});

    std::int64_t count() const;
    const leasehold::key& key() const&;
    leasehold::key key() const&& { return key(); }

    class implementation;  // private: src/locks/latch.cpp

private:
    handle<std::shared_ptr<implementation>, "latch"> inner_;
};

}  // namespace leasehold
