#pragma once
// Private to the PostgreSQL driver: identifies the data of a server.
//
// A database system has a number, given once, and a timeline, which each promotion of a standby
// counts up. A former primary that comes back as a second one, because nobody has stopped it, goes
// on with the older timeline: the promoted server does not know of its grants. So a handle that has
// seen the newer timeline refuses the older one, on all of its connections.
//
// | a server is of …                     | then                                               |
// |--------------------------------------|----------------------------------------------------|
// | a timeline not older than all seen   | it is connected to                                 |
// | an older one, of the same system     | it is refused; the next host of the URL is asked   |
// | another system                       | it is connected to: which of two came later nobody |
// |                                      | can tell (a restore, an upgrade by replication)    |
// | nothing it would tell, or a standby  | it is connected to                                 |
//
// Two standbys that were promoted each for itself have the same timeline. The database handle tells
// them apart (connect_limits::admit), by a number that it has given to each timeline; this does
// not.
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "core/thread_mutex.hpp"

namespace leasehold::postgres {

struct place_in_history {
    std::string system{};  // empty: not known
    std::int64_t timeline = 0;
};

// Belongs to one database handle. Threads: safe.
class history {
public:
    explicit history(std::function<void(const std::string&)> warn = {}) : warn_(std::move(warn)) {}

    // Records the timeline of `seen`; from now on older ones are of the past. False if this one is.
    bool note(const place_in_history& seen);
    bool is_past(const place_in_history& seen) const;
    std::int64_t newest(const place_in_history& of) const;
    // Grows with each newer timeline: while it is the same no timeline has become past.
    int changes() const noexcept { return changes_; }

    // Tells each refusal once.
    void tell_refusal(const std::string& message);

private:
    mutable thread_mutex mutex_;
    std::map<std::string, std::int64_t> newest_ LEASEHOLD_GUARDED_BY(mutex_);
    std::set<std::string> told_ LEASEHOLD_GUARDED_BY(mutex_);
    std::atomic<int> changes_ = 0;
    const std::function<void(const std::string&)> warn_;
};

}  // namespace leasehold::postgres
