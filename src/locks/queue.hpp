#pragma once
// One call in the queue of a key, with every way it can end settled or said.
//
// | ends because                | the row     | the outcome                                     |
// |-----------------------------|-------------|-------------------------------------------------|
// | the key was handed over     | is a grant  | granted                                         |
// | somebody has the row locked | –           | queue_again: a try would be refused; ask_again, |
// |                             |             | where it waits for a taker of a free key        |
// | there is no queueing        | –           | ask_again: no row, or one of another kind       |
// | the row was removed         | –           | ask_again                                       |
// | time, cancel, or `look_up`  | left        | left_queue; granted, where it was handed over   |
// | the session was lost        | left        | throws session_lost; a grant is released        |
// | an answer was lost          | in doubt    | throws; the session settles it by the owner id  |
//
// The owner of the call goes on with it when there is something to do: at first, when its waiter
// was told, and when its time has come. In between it needs no thread.
//
// Threads: one at a time.
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "database/wait_registry.hpp"
#include "locks/acquire.hpp"
#include "locks/keep_asking.hpp"

namespace leasehold {

struct waiting_plan {
    wait_limit limit;
    polling looks;
    bool detects_deadlock = false;
    // Called now and then; true ends the wait, because the caller has found something better to do.
    std::function<bool()> look_up;
    // Called when there is news, with the room locked; empty if a thread waits.
    std::function<void()> on_news;
};

enum class queue_end { granted = 1, ask_again = 2, left_queue = 3, queue_again = 4 };

struct queue_outcome {
    queue_end end = queue_end::ask_again;
    std::shared_ptr<grant> granted;
};

class queued_call {
public:
    // Throws session_lost if the session is not live.
    queued_call(session::implementation& within, const wish& what, waiting_plan how);
    // After it the waiter's row has left the queue, or is left to the session to remove.
    ~queued_call();
    queued_call(const queued_call&) = delete;
    queued_call& operator=(const queued_call&) = delete;

    // The outcome, or nullopt if it waits in the room from here on.
    std::optional<queue_outcome> queue();
    // The outcome, or nullopt if it goes on waiting in the room.
    std::optional<queue_outcome> go_on();
    // The latest time to go on.
    local_clock::time_point wake() const;
    // Waits until there is something to do.
    void wait();
    // The grant that has arrived by now, without asking the database. If there is none, or
    // `takes_grant` is false, this makes the session leave the queue, and throws.
    queue_outcome give_up(bool takes_grant);

private:
    // A waiter in the room, which leaves it whatever happens.
    class entry {
    public:
        entry(wait_registry& room, const acquire_request& wanted, const waiting_plan& how);
        ~entry() { waits_.leave(*waiter_); }
        entry(const entry&) = delete;
        entry& operator=(const entry&) = delete;
        wait_registry::waiter& waiter() const noexcept { return *waiter_; }

    private:
        wait_registry& waits_;
        std::shared_ptr<wait_registry::waiter> waiter_;
    };

    // True when the key looks takeable; nullopt if it did not queue: `end` then says why.
    std::optional<bool> enqueue(queue_end& end);
    std::shared_ptr<grant> serve_at_once();
    void refuse_circle();
    bool is_over() const;
    std::optional<wait_registry::news> news_by_now();
    queue_outcome outcome_of(const wait_registry::news& heard);
    queue_outcome leave();
    void leave_quietly() noexcept;
    void settle_later() { within_.settle_later(request_.key, request_.owner); }
    [[noreturn]] void leave_to_session();
    waiter_id who() const { return {request_.key, request_.owner, ticket_}; }
    std::shared_ptr<grant> accept_as(
        fencing_token token, std::optional<local_clock::time_point> term_end
    ) {
        const auto asked = how_.limit.began;
        return accept(
            within_, request_, token, term_end, notices_, {event_reason::handed_over, asked}
        );
    }
    template <class Use>
    auto ask(const bounds& until, Use&& with);

    session::implementation& within_;
    const session::implementation::under_way sending_;
    const waiting_plan how_;
    const acquire_request request_;
    const bounds of_call_;
    const std::int64_t notices_;  // before anything was sent
    entry entry_;
    std::int64_t ticket_ = 0;
    bool has_left_ = false;  // and will not be granted the key, unless the database forgets it
};

}  // namespace leasehold
