#pragma once
// Tells drivers that a server has refused a change because it is a standby.
//
// A server that was demoted, behind a proxy that lets its sessions live or still leads to it, is a
// fail-over in progress. The refusal is an error that may pass, and no connection from before is
// lent again: a new one may lead to the primary. If it leads to a standby, that may be read.
//
// One for each database handle. Threads: safe.
#include <atomic>

namespace leasehold {

class standby_refusals {
public:
    // A connection keeps this number when it is made: a connection with an older one is of the
    // past.
    int count() const noexcept { return count_; }
    // `then`: the number of the connection that was refused. A connection of the past has no news.
    void note(int then) noexcept { count_.compare_exchange_strong(then, then + 1); }

private:
    std::atomic<int> count_ = 0;
};

}  // namespace leasehold
