#pragma once
// The holds that a session has given up, oldest first, and the part that was looked for since it
// could have come back; see returned_holds.cpp.
//
// Each has a number, and keeps it: old ones go while a caller looks for those it was given.
//
// Threads: not safe.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "leasehold/clock.hpp"
#include "leasehold/identity.hpp"
#include "leasehold/key.hpp"
#include "leasehold/lock_kind.hpp"

namespace leasehold {

// A hold or a queue place that, by the database's answer, no longer exists.
struct ended_hold {
    leasehold::key name;
    owner_id owner;
    lock_kind kind;
    std::int64_t ticket;  // of a place in the queue; 0: of a hold
    local_clock::time_point when;
};

class ended_holds {
public:
    // The most entries: about 10 MB of memory. 1,000 releases a second at a ttl of half a minute
    // reach it.
    static constexpr std::size_t max_remembered = 65'536;

    // The most for one statement about all mutexes among them, and one about all others; also the
    // most that session_store::end() may be given.
    static constexpr std::size_t max_per_statement = 256;

    struct batch {
        std::vector<ended_hold> what;
        std::int64_t end = 0;  // the number behind them
    };

    const std::deque<ended_hold>& all() const noexcept { return all_; }

    // Forgets entries that were given up before `too_old`.
    void remember(ended_hold what, local_clock::time_point too_old) {
        while (!all_.empty() && all_.front().when < too_old) forget_oldest();
        if (all_.size() == max_remembered) forget_oldest();
        all_.push_back(std::move(what));
    }

    // The oldest entries that were not looked for, and were given up before `until`.
    batch next(local_clock::time_point until, std::size_t most) const {
        batch found;
        found.end = std::max(next_, first_);
        for (auto at = static_cast<std::size_t>(found.end - first_); at < all_.size(); ++at) {
            if (all_[at].when >= until || found.what.size() == most) break;
            found.what.push_back(all_[at]);
            ++found.end;
        }
        return found;
    }
    void looked_for(const batch& what) noexcept { next_ = what.end; }
    void look_from_start() noexcept { next_ = 0; }

private:
    void forget_oldest() {
        all_.pop_front();
        ++first_;
    }

    std::deque<ended_hold> all_;
    std::int64_t first_ = 0;  // the number of the oldest
    std::int64_t next_ = 0;   // the number of the first that was not looked for
};

}  // namespace leasehold
