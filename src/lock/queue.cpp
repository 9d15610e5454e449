#include "lock/queue.hpp"

#include <algorithm>

#include "leasehold/error.hpp"
#include "session/pass_on.hpp"
#include "store/waiter_store.hpp"

namespace leasehold {
namespace {

using std::chrono::milliseconds;

// How often a waiting call sees whether another thread of its mutex has the key meanwhile.
constexpr milliseconds nap_max{250};

// A seat that is given up whatever happens.
class place {
public:
    place(waiting_room& room, const acquire_request& wanted, polling looks)
        : room_(room), seat_(room.reserve(wanted.key, wanted.owner, looks)) {}
    ~place() { room_.vacate(*seat_); }
    place(const place&) = delete;
    place& operator=(const place&) = delete;
    waiting_room::seat& seat() const noexcept { return *seat_; }

private:
    waiting_room& room_;
    std::shared_ptr<waiting_room::seat> seat_;
};

// One waiter, from its request to queue to its end.
class guest {
public:
    guest(session::implementation& within, const wish& what, const waiting_plan& how)
        : within_(within),
          how_(how),
          request_(request_for(within, what)),
          of_call_(within.call_until(how.limit.deadline, how.limit.cancel)),
          notices_(within.notices()),
          place_(within.inner().room(), request_, how.looks) {}
    // Whichever way it went, the place in the queue is not there any more.
    ~guest() {
        if (ticket_ == 0) return;
        within_.gave_up(request_.key, request_.owner, lock_kind::mutex, ticket_);
        // A place that came back may have been handed the key before anybody looked.
        if (has_left_) within_.gave_up(request_.key, request_.owner);
    }
    guest(const guest&) = delete;
    guest& operator=(const guest&) = delete;

    stay wait();

private:
    // The answer, or nothing where it cannot queue now.
    std::optional<enqueue_result> enqueue();
    std::shared_ptr<grant> serve_at_once();
    void refuse_circle();
    stay leave();
    void leave_quietly() noexcept;
    void settle_later() { within_.settle_later(request_.key, request_.owner); }
    waiting who() const { return {request_.key, request_.owner, ticket_}; }
    std::shared_ptr<grant> accept_as(
        fencing_token token, std::optional<local_clock::time_point> term_end
    ) {
        return accept(within_, request_, token, term_end, notices_);
    }
    // A request by this owner that failed may have been carried out.
    template <class Use>
    auto ask(const bounds& until, Use&& with) {
        try {
            return within_.inner().use(until, with);
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
    place place_;
    std::int64_t ticket_ = 0;
    bool has_left_ = false;  // and will not be granted the key, unless the database forgets it
};

std::optional<enqueue_result> guest::enqueue() {
    const auto answer = ask(of_call_, [&](connection& on, store& stores) {
        return stores.waiters->enqueue(on, request_);
    });
    switch (answer.status) {
        case enqueue_status::session_ended:
            within_.found_ended();
        case enqueue_status::wrong_kind:
            within_.inner().use(of_call_, [&](connection& on, store& stores) {
                become_mutex(on, stores, request_.key, answer.kind);
            });
            return std::nullopt;
        case enqueue_status::not_now:
            return std::nullopt;
        case enqueue_status::waiting:
            break;
    }
    ticket_ = answer.ticket;
    return answer;
}

// Whoever freed the key before we queued saw no mark, so it is for us to serve the queue.
std::shared_ptr<grant> guest::serve_at_once() {
    const auto sent = local_clock::now();
    const auto passed = ask(of_call_, [&](connection& on, store& stores) {
        auto answer = stores.waiters->serve(on, request_.key);
        if (answer.next && answer.next->owner != request_.owner) {
            within_.inner().room().announce(on, stores, *answer.next, sent);
        }
        return answer;
    });
    if (!passed.next || passed.next->owner != request_.owner) return nullptr;
    std::optional<local_clock::time_point> term_end;
    if (request_.hold_at_most) term_end = sent + *request_.hold_at_most;
    return accept_as(passed.next->token, term_end);
}

void guest::refuse_circle() {
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

void guest::leave_quietly() noexcept {
    if (!within_.may_part()) return settle_later();
    try {
        within_.inner().use(within_.parting(), [&](connection& on, store& stores) {
            if (stores.waiters->leave(on, who())) return;
            release_owner(within_.inner(), on, stores, request_.key, request_.owner);
        });
        has_left_ = true;
    } catch (const std::exception&) {
        settle_later();
    }
}

// Where the row is not there any more the key was handed over, and it may as well be had.
stay guest::leave() {
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
    const bool has_left =
        ask(until, [&](connection& on, store& stores) { return stores.waiters->leave(on, who()); });
    has_left_ = has_left;
    if (has_left) return {stay_end::left_queue, nullptr};
    const auto sent = local_clock::now();
    const auto found = ask(until, [&](connection& on, store& stores) {
        return stores.waiters->look(on, {who()}).at(0);
    });
    if (found.status != look_status::granted) return {stay_end::left_queue, nullptr};
    std::optional<local_clock::time_point> term_end;
    if (found.term_left) term_end = sent + *found.term_left;
    return {stay_end::granted, accept_as(found.token, term_end)};
}

stay guest::wait() {
    const auto queued = enqueue();
    if (!queued) return {stay_end::ask_again, nullptr};
    if (queued->looks_takeable) {
        if (auto served = serve_at_once()) return {stay_end::granted, std::move(served)};
    }
    if (how_.detects_deadlock) refuse_circle();
    auto& room = within_.inner().room();
    room.take(place_.seat(), ticket_);
    const auto over = within_.over();
    std::optional<waiting_room::news> heard;
    const auto is_over = [&] {
        return how_.limit.is_over() || !within_.is_live() || (how_.look_up && how_.look_up());
    };
    try {
        do {
            const auto nap_end = local_clock::now() + nap_max;
            heard = room.wait(
                place_.seat(), std::min(how_.limit.deadline, nap_end), how_.limit.cancel, over
            );
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
    if (heard->status != look_status::granted) return {stay_end::ask_again, nullptr};
    return {stay_end::granted, accept_as(heard->token, heard->term_end)};
}

}  // namespace

stay wait_in_queue(session::implementation& within, const wish& what, const waiting_plan& how) {
    const session::implementation::under_way sending{within};
    within.require_live();
    return guest{within, what, how}.wait();
}

}  // namespace leasehold
