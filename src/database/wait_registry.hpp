#pragma once
// The registry of all waiters of one database handle: one thread asks the database for all of them.
//
// | a waiter is | by                 | becomes                                                   |
// |-------------|--------------------|-----------------------------------------------------------|
// | expected    | expect()           | queued; or granted, by a hand-over faster than its answer |
// | queued      | enter()            | granted or gone, when somebody here finds out             |
// | granted     | announce(), a look | –                                                         |
// | gone        | a look             | –: its row was removed; queue again                       |
//
// The sources of news: a release in this process, at once (announce); a notification, after one
// look: a datagram (notifier.hpp), or the database's own; a bounded, jittered look in any
// case, which also serves keys whose holders died. One look is one statement for all waiters of the
// registry, so the cost of a hand-over does not grow with their number.
//
// If no notification of the database names a waiter, the registry looks often until a datagram has
// told of a turn, and again once a look finds a turn of which no datagram told: the releasing
// program may be on another machine.
// The thread and its connection exist only while somebody waits, and a little longer.
//
// Threads: safe.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "core/jitter.hpp"
#include "core/thread_mutex.hpp"
#include "database/contended_keys.hpp"
#include "database/notifier.hpp"
#include "leasehold/clock.hpp"
#include "leasehold/database.hpp"
#include "locks/waiter_store.hpp"
#include "sql/store_set.hpp"

namespace leasehold {

// The event of a key that was handed to a new owner; it refers to the key.
event handed_over(const key& what, const successor& to, event_reason why) noexcept;

class wait_registry {
public:
    // The news of a waiter.
    struct news {
        look_status status = look_status::gone;
        fencing_token token;
        // Set if granted for a fixed term: the time until which the term cannot have ended.
        std::optional<local_clock::time_point> term_end;
    };

    class waiter;

    explicit wait_registry(database::implementation& of);
    ~wait_registry();
    wait_registry(const wait_registry&) = delete;
    wait_registry& operator=(const wait_registry&) = delete;

    // The address for the rows of this room's waiters, to which others send. Before
    // expect().
    std::string address();

    // Comes before the request to queue is sent. `on_news`, if there is one, is called whenever
    // there is news, with the registry locked: it must not wait, nor call the registry.
    std::shared_ptr<waiter> expect(
        const key& name, const owner_id& owner, polling looks, std::function<void()> on_news = {}
    );
    void enter(waiter& which, std::int64_t ticket);
    void leave(waiter& which) noexcept;

    // The news by now. Throws when an error makes looking hopeless; outages are waited out.
    std::optional<news> heard(waiter& which);
    // Waits until there is news, `until` comes, or one of the two is requested.
    void wait_for_news(
        waiter& which,
        local_clock::time_point until,
        const std::stop_token& cancel,
        const std::stop_token& lost
    );
    std::optional<news> wait(
        waiter& which,
        local_clock::time_point until,
        const std::stop_token& cancel,
        const std::stop_token& lost
    ) {
        wait_for_news(which, until, cancel, lost);
        return heard(which);
    }

    // Tells the new owner if it waits in this room; otherwise notifies its room, if need be over
    // `on`. A hint: never throws. `sent`: a time before the request that handed over was sent.
    void announce(
        connection& on, store_set& stores, const successor& next, local_clock::time_point sent
    ) noexcept;

    contended_keys& contended() noexcept { return contended_; }

    // For tests: from here on nobody is told and no notification is sent or waited for; only
    // looks are left.
    void suppress_hints() noexcept { hints_are_suppressed_ = true; }
    // For tests: each suppresses one of the two kinds of notification.
    void suppress_datagrams() noexcept { datagrams_are_suppressed_ = true; }
    void suppress_database_notifications() noexcept {
        database_notifications_are_suppressed_ = true;
    }
    // Counts what was sent, by kind. A notification counts also where the engine has none.
    int notifications() const noexcept { return notifications_; }
    int datagrams() const noexcept { return datagrams_; }
    int looks() const noexcept { return looks_; }
    bool is_listening() {
        const thread_guard guard{mutex_};
        return is_listening_;
    }
    int queued() {
        const thread_guard guard{mutex_};
        return queued_;
    }

private:
    using waiters = std::vector<std::shared_ptr<waiter>>;
    struct entry {
        waiter_id who;
        const polling looks;
        const std::function<void()> on_news{};
        bool is_queued = false;
        bool was_notified = false;  // before it was queued
        bool got_datagram = false;  // since the last look
        std::optional<news> heard{};
        std::exception_ptr failure{};
        std::condition_variable_any changed{};

        void tell() {
            changed.notify_all();
            if (on_news) on_news();
        }
    };

    entry& entry_of(waiter& which) LEASEHOLD_REQUIRES(mutex_);
    void tend(std::stop_token stop);
    void attend(std::stop_token stop);
    bool wait_for_waiters(const std::stop_token& stop) LEASEHOLD_EXCLUDES(mutex_);
    waiters waiters_due(std::stop_token stop);
    local_clock::time_point next_wake() const LEASEHOLD_REQUIRES(mutex_);
    waiters wait_for_notifications(local_clock::time_point until) LEASEHOLD_EXCLUDES(mutex_);
    void note(const notifier::heard& what, waiters& notified) LEASEHOLD_REQUIRES(mutex_);
    void look_after(const waiters& due, const std::stop_token& stop);
    void serve(connection& on, store_set& stores, const key& name);
    bool tell(const owner_id& whom, const news& what) LEASEHOLD_EXCLUDES(mutex_);
    void tell_failure(const std::exception_ptr& failure) LEASEHOLD_EXCLUDES(mutex_);
    bool trusts_datagrams() const LEASEHOLD_REQUIRES(mutex_) {
        return turns_told_ == turns_to_trust;
    }
    bool hears() const LEASEHOLD_REQUIRES(mutex_) { return is_listening_ || trusts_datagrams(); }
    void plan_next_look(bool is_lively) LEASEHOLD_REQUIRES(mutex_);
    connection& own_connection(const std::stop_token& stop) LEASEHOLD_EXCLUDES(mutex_);
    bool listens(connection& on);

    database::implementation& of_;
    contended_keys contended_;
    std::atomic<bool> hints_are_suppressed_ = false;
    std::atomic<bool> datagrams_are_suppressed_ = false;
    std::atomic<bool> database_notifications_are_suppressed_ = false;
    std::atomic<int> notifications_ = 0, datagrams_ = 0, looks_ = 0;
    notifier& notifier_;

    thread_mutex mutex_;
    std::condition_variable_any changed_;
    std::map<owner_id, std::shared_ptr<waiter>> waiters_ LEASEHOLD_GUARDED_BY(mutex_);
    int queued_ LEASEHOLD_GUARDED_BY(mutex_) = 0;
    int dull_looks_ LEASEHOLD_GUARDED_BY(mutex_) = 0;  // in a row
    local_clock::time_point next_look_ LEASEHOLD_GUARDED_BY(mutex_){};
    bool is_listening_ LEASEHOLD_GUARDED_BY(mutex_) = false;
    local_clock::time_point linger_end_ LEASEHOLD_GUARDED_BY(mutex_){};
    // While the thread sleeps: the time until which it does, unless somebody wakes it.
    std::optional<local_clock::time_point> sleeps_until_ LEASEHOLD_GUARDED_BY(mutex_);
    std::chrono::milliseconds looks_most_ LEASEHOLD_GUARDED_BY(mutex_){100};  // of the last plan
    // The number of turns in a row that datagrams must tell of before the registry stops listening
    // to the database's notifications.
    static constexpr int turns_to_trust = 4;
    int turns_told_ LEASEHOLD_GUARDED_BY(mutex_) = 0;
    bool names_nobody_ LEASEHOLD_GUARDED_BY(mutex_) = false;  // the database's notification
    // A datagram that told of no turn may be anybody's: until then, others wait for the next look.
    local_clock::time_point deaf_until_ LEASEHOLD_GUARDED_BY(mutex_){};

    std::unique_ptr<connection> own_connection_;        // of the thread alone
    std::jthread thread_ LEASEHOLD_GUARDED_BY(mutex_);  // last: it uses all of the above
};

class wait_registry::waiter {
public:
    waiter(waiter_id who, polling looks, std::function<void()> on_news)
        : entry_{std::move(who), looks, std::move(on_news)} {}

private:
    friend entry& wait_registry::entry_of(waiter&);
    entry entry_;  // nobody else's, since only the registry's mutex guards it
};

inline wait_registry::entry& wait_registry::entry_of(waiter& which) {
    return which.entry_;
}

}  // namespace leasehold
