#pragma once
// Waits for notifications that tell a worker of new jobs in its queues. See jobs/job_notifier.hpp.
//
// A thread of its own waits for datagrams, and on engines whose notifications name a queue for
// those, over a connection of its own. If the listener misses one, no job is lost: a worker also
// looks by itself.
//
// Threads: one thread calls start() and stop(); the thread of the listener calls `heard`.
#include <functional>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "database/database.hpp"
#include "database/notifier.hpp"
#include "jobs/job_subscriber_store.hpp"
#include "session/session.hpp"

namespace leasehold {

class job_listener {
public:
    using on_notification = std::function<void(const std::string& queue)>;

    job_listener(
        std::shared_ptr<session::implementation> within,
        const std::vector<std::string>& queues,
        on_notification heard
    );
    ~job_listener() { stop(); }
    job_listener(const job_listener&) = delete;
    job_listener& operator=(const job_listener&) = delete;

    void start();
    void stop() noexcept;

    // Writes and removes the rows that hold the listener's address; a listener that cannot listen
    // has none. If that fails, this complains, and the caller calls announce() again.
    void announce();
    void withdraw();
    // Until then others may enqueue without knowing the address.
    local_clock::time_point known_everywhere_at() const noexcept { return known_everywhere_at_; }

private:
    void listen(std::stop_token stop);
    void tune_in(const std::stop_token& stop);
    void hear();
    void warn(const std::string& said, const std::string& why) const;

    const std::shared_ptr<session::implementation> session_;
    const on_notification heard_;
    notifier notifier_;
    std::string address_;
    // By id: of the subscriber's row, and in the database's notifications.
    std::map<owner_id, std::string> queue_of_, of_database_;
    // Only the listener's thread uses the members from here to has_complained_. `again_at_`: when a
    // worker that the database has notified looks once more.
    std::map<std::string, local_clock::time_point> again_at_;
    std::unique_ptr<connection> database_notifications_;
    local_clock::time_point next_try_{};
    bool has_complained_ = false;
    // These four by the thread of announce().
    bool is_announced_ = false, is_written_ = false;
    bool has_complained_of_address_ = false;
    local_clock::time_point known_everywhere_at_{};
    std::jthread thread_;  // last: it uses all of the above
};

}  // namespace leasehold
