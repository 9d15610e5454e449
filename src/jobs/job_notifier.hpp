#pragma once
// Notifies the workers of queues of new jobs: enqueued and committed.
//
// Rows of the database (job_subscriber_store.hpp) say at which addresses workers listen. This reads
// them once in a while and remembers them. A worker of this machine, or of one with a wake-up
// address, gets a datagram (notifier.hpp). If a worker cannot be reached so, the database's
// own notification, if it has one, goes to the whole queue: at most once in
// `database_notified_every`. A worker that gets such a notification looks again after that time.
//
// All of it is a hint: a worker's next look finds jobs whose notification was lost.
//
// Threads: safe.
#include <atomic>
#include <chrono>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/thread_mutex.hpp"
#include "database/database.hpp"
#include "jobs/job_subscriber_store.hpp"
#include "leasehold/clock.hpp"
#include "leasehold/connection.hpp"
#include "leasehold/identity.hpp"
#include "sql/store_set.hpp"

namespace leasehold {

class job_notifier {
public:
    static constexpr std::chrono::milliseconds database_notified_every{100};
    // The longest time until an enqueuing program knows of a worker that has just begun.
    static constexpr std::chrono::seconds known_for{1};

    explicit job_notifier(database::implementation& of) : notifier_(of.notifier()) {}

    // Notifies the workers of this queue. `on` is ours, and has no transaction open. Never throws.
    void notify(connection& on, store_set& stores, const std::string& queue) noexcept;

    // A worker of this process has just begun or ended.
    void forget(const std::string& queue);

    // The id of a queue in the database's own notifications.
    static owner_id id_of(std::string_view queue);

    // For tests: nobody is notified from here on.
    void suppress() noexcept { is_suppressed_ = true; }
    int notifications() const noexcept { return notifications_; }

private:
    struct known {
        std::vector<job_subscriber> subscribers;
        local_clock::time_point read_at{};
        local_clock::time_point next_of_database{};
        bool is_read = false;
    };
    std::vector<job_subscriber> subscribers_of(
        connection& on, store_set& stores, const std::string& queue
    );
    bool may_notify_by_database(const std::string& queue);

    notifier& notifier_;
    std::atomic<bool> is_suppressed_ = false;
    std::atomic<int> notifications_ = 0;
    thread_mutex mutex_;
    std::map<std::string, known> known_ LEASEHOLD_GUARDED_BY(mutex_);
};

}  // namespace leasehold
