#include "lock/queue.hpp"

#include <algorithm>

#include "leasehold/error.hpp"
#include "session/release.hpp"
#include "store/waiter_store.hpp"

namespace leasehold {
namespace {

using std::chrono::milliseconds;

// How often a waiting call sees whether another thread of its mutex has the key meanwhile.
constexpr milliseconds look_interval{250};

// A waiter in the room, which leaves it whatever happens.
class entry {
public:
    entry(waiting_room& room, const acquire_request& wanted, polling looks)
        : room_(room), waiter_(room.expect(wanted.key, wanted.owner, looks)) {}
    ~entry() { room_.leave(*waiter_); }
    entry(const entry&) = delete;
    entry& operator=(const entry&) = delete;
    waiting_room::waiter& waiter() const noexcept { return *waiter_; }

private:
    waiting_room& room_;
    std::shared_ptr<waiting_room::waiter> waiter_;
};

acquire_request rung_at(std::string bell, acquire_request wanted) {
    wanted.bell = std::move(bell);
    return wanted;
}

// One waiter, from its request to queue to its end.
class queued_call {
public:
    queued_call(session::implementation& within, const wish& what, const waiting_plan& how)
        : within_(within),
          how_(how),
          request_(rung_at(within.database().room().address(), request_for(within, what))),
          of_call_(within.call_until(how.limit.deadline, how.limit.cancel)),
          notices_(within.notices()),
          entry_(within.database().room(), request_, how.looks) {}
    // Whichever way it went, the row in the queue is not there any more.
    ~queued_call() {
        if (ticket_ == 0) return;
        within_.gave_up(request_.key, request_.owner, lock_kind::mutex, ticket_);
        // A row that came back may have been handed the key before anybody looked.
        if (has_left_) within_.gave_up(request_.key, request_.owner);
    }
    queued_call(const queued_call&) = delete;
    queued_call& operator=(const queued_call&) = delete;

    queue_outcome wait();

private:
    // Whether the key looks takeable, or nothing where it did not queue; how that ends is in `end`.
    std::optional<bool> enqueue(queue_end& end);
    std::shared_ptr<grant> serve_at_once();
    void refuse_circle();
    queue_outcome leave();
    void leave_quietly() noexcept;
    void settle_later() { within_.settle_later(request_.key, request_.owner); }
    waiter_id who() const { return {request_.key, request_.owner, ticket_}; }
    std::shared_ptr<grant> accept_as(
        fencing_token token, std::optional<local_clock::time_point> term_end
    ) {
        const auto asked = how_.limit.began;
        return accept(
            within_, request_, token, term_end, notices_, {event_reason::handed_over, asked}
        );
    }
    // A request by this owner that failed may have been carried out.
    template <class Use>
    auto ask(const bounds& until, Use&& with) {
        try {
            return within_.database().use(until, with);
        } catch (const error&) {
            settle_later();
            throw;
        }
    }

    session::implementation& within_;
    const waiting_plan& how_;
    const acquire_request request_;
    const bounds of_call_;
    const std::int64_t notices_;  // before anything was sent
    entry entry_;
    std::int64_t ticket_ = 0;
    bool has_left_ = false;  // and will not be granted the key, unless the database forgets it
};

std::optional<bool> queued_call::enqueue(queue_end& end) {
    const auto answer = ask(of_call_, [&](connection& on, store& stores) {
        return stores.waiters->enqueue(on, request_);
    });
    switch (answer.status) {
        case enqueue_status::session_ended:
            within_.found_ended();
        case enqueue_status::unknown_key:
            end = queue_end::ask_again;
            return std::nullopt;
        case enqueue_status::wrong_kind:
            within_.database().use(of_call_, [&](connection& on, store& stores) {
                become_mutex(on, stores, request_.key, answer.kind);
            });
            end = queue_end::ask_again;
            return std::nullopt;
        case enqueue_status::not_now:
            end = answer.is_being_taken ? queue_end::ask_again : queue_end::queue_again;
            return std::nullopt;
        case enqueue_status::waiting:
            break;
    }
    ticket_ = answer.ticket;
    within_.database().room().sought().note(request_.key);
    return answer.looks_takeable;
}

// A release before we queued saw no ticket, so it is for us to serve the queue.
std::shared_ptr<grant> queued_call::serve_at_once() {
    const auto sent = local_clock::now();
    const auto passed = ask(of_call_, [&](connection& on, store& stores) {
        auto answer = stores.waiters->serve(on, request_.key);
        if (answer.next && answer.next->owner != request_.owner) {
            auto& database = within_.database();
            database.room().announce(on, stores, *answer.next, sent);
            database.tell(handed_over(request_.key, *answer.next, event_reason::found_free));
        }
        return answer;
    });
    if (!passed.next || passed.next->owner != request_.owner) return nullptr;
    within_.database().room().sought().forget(request_.key);
    std::optional<local_clock::time_point> term_end;
    if (request_.hold_at_most) term_end = sent + *request_.hold_at_most;
    return accept_as(passed.next->token, term_end);
}

void queued_call::refuse_circle() {
    const bool is_circle = ask(of_call_, [&](connection& on, store& stores) {
        return stores.waiters->closes_a_circle(on, who(), request_.session);
    });
    if (!is_circle) return;
    leave_quietly();
    throw error(
        errc::would_deadlock,
        "waiting for '" + request_.key.name() +
            "' would never end: its holder waits for a key of this session; release that first, or "
            "acquire keys in one order everywhere"
    );
}

void queued_call::leave_quietly() noexcept {
    if (!within_.may_part()) return settle_later();
    try {
        within_.database().use(within_.parting(), [&](connection& on, store& stores) {
            if (stores.waiters->leave(on, request_.key, request_.owner, ticket_)) return;
            release_owner(within_.database(), on, stores, request_.key, request_.owner);
        });
        has_left_ = true;
    } catch (const std::exception&) {
        settle_later();
    }
}

// Where the row is not there any more the key was handed over, and it may as well be had.
queue_outcome queued_call::leave() {
    if (!within_.may_part()) {
        settle_later();
        error_facts facts;
        facts.outcome_unknown = true;
        throw error(
            errc::timed_out,
            "waiting for '" + request_.key.name() +
                "' is over, and the database does not answer: the session leaves the queue, and "
                "releases the key if it was handed over",
            facts
        );
    }
    const bounds until = within_.parting();
    const bool has_left = ask(until, [&](connection& on, store& stores) {
        return stores.waiters->leave(on, request_.key, request_.owner, ticket_);
    });
    has_left_ = has_left;
    if (has_left) return {queue_end::left_queue, nullptr};
    const auto sent = local_clock::now();
    const auto found = ask(until, [&](connection& on, store& stores) {
        return stores.waiters->look(on, {who()}).at(0);
    });
    if (found.status != look_status::granted) return {queue_end::left_queue, nullptr};
    std::optional<local_clock::time_point> term_end;
    if (found.term_left) term_end = sent + *found.term_left;
    return {queue_end::granted, accept_as(found.token, term_end)};
}

queue_outcome queued_call::wait() {
    queue_end refused{};
    const auto looks_takeable = enqueue(refused);
    if (!looks_takeable) return {refused, nullptr};
    if (*looks_takeable) {
        if (auto served = serve_at_once()) return {queue_end::granted, std::move(served)};
    }
    if (how_.detects_deadlock) refuse_circle();
    auto& room = within_.database().room();
    room.enter(entry_.waiter(), ticket_);
    const auto over = within_.over();
    std::optional<waiting_room::news> heard;
    const auto is_over = [&] {
        return how_.limit.is_over() || !within_.is_live() || (how_.look_up && how_.look_up());
    };
    try {
        do {
            auto until = how_.limit.deadline;
            if (how_.look_up) until = std::min(until, local_clock::now() + look_interval);
            heard = room.wait(entry_.waiter(), until, how_.limit.cancel, over);
        } while (!heard && !is_over());
    } catch (...) {
        leave_quietly();
        throw;
    }
    if (!within_.is_live()) {
        leave_quietly();
        within_.refuse_lost();
    }
    if (!heard) return leave();
    if (heard->status != look_status::granted) return {queue_end::ask_again, nullptr};
    return {queue_end::granted, accept_as(heard->token, heard->term_end)};
}

}  // namespace

queue_outcome wait_in_queue(
    session::implementation& within, const wish& what, const waiting_plan& how
) {
    const session::implementation::under_way sending{within};
    within.require_live();
    return queued_call{within, what, how}.wait();
}

}  // namespace leasehold
