#pragma once
// For drivers: that a server has refused a change because it is a standby.
//
// A server that was demoted, behind a proxy that lets its sessions live or still leads to it, is a
// fail-over in progress. Whoever meets it is told so by an error that may pass; the connections of
// then are not lent again, and who connects from then on waits for a server that takes changes, as
// long as the pool lets him. A handle that only reads never gets here.
//
// One for each database handle. Threads: safe.
#include <atomic>

namespace leasehold {

class standby_refusals {
public:
    // A connection keeps it when it is made: those with an older one are of the past.
    int count() const noexcept { return count_; }
    // `then`: of the connection that was refused. One of the past has no news.
    void note(int then) noexcept {
        if (count_.compare_exchange_strong(then, then + 1)) is_primary_wanted_ = true;
    }
    bool is_primary_wanted() const noexcept { return is_primary_wanted_; }
    void note_primary() noexcept { is_primary_wanted_ = false; }

private:
    std::atomic<int> count_ = 0;
    std::atomic<bool> is_primary_wanted_ = false;
};

}  // namespace leasehold
