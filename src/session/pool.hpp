#pragma once
// A bounded set of connections, replaced when they break.
//
// take() lends a connection that is idle and was answering a moment ago; give_back() keeps it if it
// is still fit. After a failed attempt to connect, the next ones are spaced by a jittered back-off,
// so that a restarted server is not met by a stampede. A pool that never connected fails at once:
// a wrong address should not take ten seconds to say so.
//
// Threads: safe.
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "leasehold/clock.hpp"
#include "leasehold/database.hpp"

namespace leasehold {

class pool {
public:
    // Firewalls and servers drop connections that sleep; one that slept for longer than
    // `nap_trusted` is asked before it is lent. Shorter naps are not worth a round trip.
    pool(
        connector connect,
        const database_settings& settings,
        std::chrono::nanoseconds nap_trusted = std::chrono::seconds{5}
    );

    // Waits at most acquire_timeout; where a connection that slept does not answer, the check of it
    // and connect_timeout more. Throws timed_out or what the connector throws.
    std::unique_ptr<connection> take();
    // The same where the caller may hold one already: opens one beyond the bound rather than wait,
    // so that as many callers as there are connections cannot wait for each other.
    std::unique_ptr<connection> take_beside();
    void give_back(std::unique_ptr<connection> lent) noexcept;

    // A connection broke: the next one that opens is a recovery, and the observer is told.
    void note_broken() noexcept;

    // One outside the bound, for a session's heartbeat; spaced by the same back-off.
    std::unique_ptr<connection> connect_apart(std::chrono::milliseconds patience);

private:
    struct idle_connection {
        std::unique_ptr<connection> held;
        local_clock::time_point since;
    };

    std::unique_ptr<connection> take_counted(local_clock::time_point deadline);
    std::unique_ptr<connection> take_idle(local_clock::time_point& deadline);
    std::unique_ptr<connection> connect_within(local_clock::time_point deadline);
    void wait_for_back_off(local_clock::time_point deadline);
    void note_failure();
    void note_success();

    const connector connect_;
    const database_settings settings_;
    const std::chrono::nanoseconds nap_trusted_;

    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<idle_connection> idle_;  // most recently used last
    int lent_ = 0;                       // taken or being opened
    int failures_in_a_row_ = 0;
    bool connected_once_ = false;
    bool has_lost_one_ = false;  // since a connection was last opened
    local_clock::time_point next_attempt_{};
};

}  // namespace leasehold
