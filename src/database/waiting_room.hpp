#pragma once
// Where the waiters of one database handle are: one thread asks the database for all of them.
//
// | a waiter is | by                 | becomes                                                   |
// |-------------|--------------------|-----------------------------------------------------------|
// | expected    | expect()           | queued; or granted, by a hand-over faster than its answer |
// | queued      | enter()            | granted or gone, when somebody here finds out             |
// | granted     | announce(), a look | –                                                         |
// | gone        | a look             | –: its row was removed; queue again                       |
//
// Who finds out: a release in this process, at once (announce); a bell of the database, after one
// look; a bounded, jittered look in any case, which also serves keys whose holders died. One look
// is one statement for all that sit here, so what a hand-over costs does not grow with them.
// The thread and its connection are there only while somebody waits, and a little longer.
//
// Threads: safe.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "core/jitter.hpp"
#include "leasehold/clock.hpp"
#include "leasehold/database.hpp"
#include "store/store.hpp"
#include "store/waiter_store.hpp"

namespace leasehold {

class waiting_room {
public:
    // What became of a waiter.
    struct news {
        look_status status = look_status::gone;
        fencing_token token;
        // Where granted for a fixed term: until when it cannot have ended.
        std::optional<local_clock::time_point> term_end;
    };

    class waiter;

    explicit waiting_room(database::implementation& of);
    ~waiting_room();
    waiting_room(const waiting_room&) = delete;
    waiting_room& operator=(const waiting_room&) = delete;

    // Before the request to queue is sent.
    std::shared_ptr<waiter> expect(const key& name, const owner_id& owner, polling looks);
    void enter(waiter& which, std::int64_t ticket);
    void leave(const waiter& which) noexcept;

    // Nothing where `until` came, or one of the two was requested, first. Throws what makes looking
    // hopeless; outages are waited out.
    std::optional<news> wait(
        waiter& which,
        local_clock::time_point until,
        const std::stop_token& cancel,
        const std::stop_token& lost
    );

    // Tells the new owner, if it sits here; otherwise rings for it over `on`. A hint: never throws.
    // `sent`: before the request that handed over.
    void announce(
        connection& on, store& stores, const successor& next, local_clock::time_point sent
    ) noexcept;

    // For tests: from here on nobody is told and no bell is rung or heard; only looks are left.
    void suppress_hints() noexcept { hints_are_suppressed_ = true; }
    int rings() const noexcept { return rings_; }  // of the bell, or on engines without one
    bool is_listening() {
        const std::lock_guard guard{mutex_};
        return is_listening_;
    }
    int seated() {
        const std::lock_guard guard{mutex_};
        return queued_;
    }

private:
    using waiters = std::vector<std::shared_ptr<waiter>>;

    void tend(std::stop_token stop);
    void attend(std::stop_token stop);
    bool wait_for_guests(std::unique_lock<std::mutex>& guard, std::stop_token stop);
    waiters waiters_due(std::stop_token stop);
    waiters rung_for(connection& on, std::chrono::milliseconds patience);
    void look_after(const waiters& due, const std::stop_token& stop);
    void serve(connection& on, store& stores, const key& name);
    bool tell(const owner_id& whom, const news& what);
    void tell_failure(const std::exception_ptr& failure);
    void plan_next_look(bool is_lively);
    connection& own_connection(const std::stop_token& stop);
    bool listens(connection& on);

    database::implementation& of_;
    std::atomic<bool> hints_are_suppressed_ = false;
    std::atomic<int> rings_ = 0;

    std::mutex mutex_;
    std::condition_variable_any changed_;
    std::map<owner_id, std::shared_ptr<waiter>> waiters_;
    int queued_ = 0;
    int dull_looks_ = 0;  // in a row
    local_clock::time_point next_look_{};

    // Of the thread alone.
    std::unique_ptr<connection> own_connection_;
    bool is_listening_ = false;

    std::jthread thread_;  // last: it uses all of the above
};

class waiting_room::waiter {
public:
    waiter(waiter_id who, polling looks) : who_(std::move(who)), looks_(looks) {}
    const waiter_id& who() const noexcept { return who_; }

private:
    friend class waiting_room;
    waiter_id who_;  // its ticket, and all below, guarded by the room
    const polling looks_;
    bool is_queued_ = false;
    bool was_rung_ = false;  // before it was seated
    std::optional<news> news_;
    std::exception_ptr failure_;
    std::condition_variable_any changed_;
};

}  // namespace leasehold
