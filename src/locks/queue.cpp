#include "locks/queue.hpp"

#include <algorithm>

#include "leasehold/error.hpp"
#include "locks/waiter_store.hpp"
#include "session/release.hpp"

namespace leasehold {
namespace {

using std::chrono::milliseconds;

// The time between two looks of a waiting call for another thread of its mutex that has the key.
constexpr milliseconds look_interval{250};

acquire_request with_address(std::string own, acquire_request wanted) {
    wanted.wakeup_address = std::move(own);
    return wanted;
}

session::implementation& live(session::implementation& within) {
    within.require_live();
    return within;
}

}  // namespace

queued_call::entry::entry(
    wait_registry& room, const acquire_request& wanted, const waiting_plan& how
)
    : waits_(room), waiter_(room.expect(wanted.key, wanted.owner, how.looks, how.on_news)) {}

queued_call::queued_call(session::implementation& within, const wish& what, waiting_plan how)
    : within_(within),
      sending_(within),
      how_(std::move(how)),
      request_(with_address(within.database().waits().address(), request_for(live(within), what))),
      of_call_(within.call_until(how_.limit.deadline, how_.limit.cancel)),
      notices_(within.notices()),
      entry_(within.database().waits(), request_, how_) {}

queued_call::~queued_call() {
    if (ticket_ == 0) return;
    within_.gave_up(request_.key, request_.owner, lock_kind::mutex, ticket_);
    // A row that came back may have been handed the key before anybody looked.
    if (has_left_) within_.gave_up(request_.key, request_.owner);
}

// Notes that a request by this owner that failed may have been carried out.
template <class Use>
auto queued_call::ask(const bounds& until, Use&& with) {
    try {
        return within_.database().use(until, with);
    } catch (const error&) {
        settle_later();
        throw;
    }
}

std::optional<bool> queued_call::enqueue(queue_end& end) {
    const auto answer = ask(of_call_, [&](connection& on, store_set& stores) {
        return stores.get<waiter_store>().enqueue(on, request_);
    });
    switch (answer.status) {
        case enqueue_status::session_ended:
            within_.found_ended();
        case enqueue_status::unknown_key:
            end = queue_end::ask_again;
            return std::nullopt;
        case enqueue_status::wrong_kind:
            within_.database().use(of_call_, [&](connection& on, store_set& stores) {
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
    within_.database().waits().contended().note(request_.key);
    return answer.looks_takeable;
}

// A release before this call queued saw no ticket, so this call has to serve the queue.
std::shared_ptr<grant> queued_call::serve_at_once() {
    const auto sent = local_clock::now();
    const auto passed = ask(of_call_, [&](connection& on, store_set& stores) {
        auto answer = stores.get<waiter_store>().serve(on, request_.key);
        if (answer.next && answer.next->owner != request_.owner) {
            auto& database = within_.database();
            database.waits().announce(on, stores, *answer.next, sent);
            database.tell(handed_over(request_.key, *answer.next, event_reason::found_free));
        }
        return answer;
    });
    if (!passed.next || passed.next->owner != request_.owner) return nullptr;
    within_.database().waits().contended().forget(request_.key);
    std::optional<local_clock::time_point> term_end;
    if (request_.fixed_term) term_end = sent + *request_.fixed_term;
    return accept_as(passed.next->token, term_end);
}

void queued_call::refuse_circle() {
    const bool is_circle = ask(of_call_, [&](connection& on, store_set& stores) {
        return stores.get<waiter_store>().closes_a_circle(on, who(), request_.session);
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
        within_.database().use(within_.parting(), [&](connection& on, store_set& stores) {
            if (stores.get<waiter_store>().leave(on, request_.key, request_.owner, ticket_)) return;
            release_owner(within_.database(), on, stores, request_.key, request_.owner);
        });
        has_left_ = true;
    } catch (const std::exception&) {
        settle_later();
    }
}

void queued_call::leave_to_session() {
    settle_later();
    throw error(
        errc::timed_out,
        "waiting for '" + request_.key.name() +
            "' is over, and the database does not answer: the session leaves the queue, and "
            "releases the key if it was handed over",
        {.outcome_unknown = true}
    );
}

// If the waiter's row no longer exists the key was handed over, and the call takes it.
queue_outcome queued_call::leave() {
    if (!within_.may_part()) leave_to_session();
    const bounds until = within_.parting();
    const bool has_left = ask(until, [&](connection& on, store_set& stores) {
        return stores.get<waiter_store>().leave(on, request_.key, request_.owner, ticket_);
    });
    has_left_ = has_left;
    if (has_left) return {queue_end::left_queue, nullptr};
    const auto sent = local_clock::now();
    const auto found = ask(until, [&](connection& on, store_set& stores) {
        return stores.get<waiter_store>().look(on, {who()}).at(0);
    });
    if (found.status != look_status::granted) return {queue_end::left_queue, nullptr};
    std::optional<local_clock::time_point> term_end;
    if (found.term_left) term_end = sent + *found.term_left;
    return {queue_end::granted, accept_as(found.token, term_end)};
}

std::optional<queue_outcome> queued_call::queue() {
    queue_end refused{};
    const auto looks_takeable = enqueue(refused);
    if (!looks_takeable) return queue_outcome{refused, nullptr};
    if (*looks_takeable) {
        if (auto served = serve_at_once()) {
            return queue_outcome{queue_end::granted, std::move(served)};
        }
    }
    if (how_.detects_deadlock) refuse_circle();
    within_.database().waits().enter(entry_.waiter(), ticket_);
    return std::nullopt;
}

bool queued_call::is_over() const {
    return how_.limit.is_over() || !within_.is_live() || (how_.look_up && how_.look_up());
}

local_clock::time_point queued_call::wake() const {
    if (!how_.look_up) return how_.limit.deadline;
    return std::min(how_.limit.deadline, local_clock::now() + look_interval);
}

void queued_call::wait() {
    auto& room = within_.database().waits();
    room.wait_for_news(entry_.waiter(), wake(), how_.limit.cancel, within_.over());
}

std::optional<wait_registry::news> queued_call::news_by_now() {
    try {
        return within_.database().waits().heard(entry_.waiter());
    } catch (...) {
        leave_quietly();
        throw;
    }
}

queue_outcome queued_call::outcome_of(const wait_registry::news& heard) {
    if (heard.status != look_status::granted) return {queue_end::ask_again, nullptr};
    return {queue_end::granted, accept_as(heard.token, heard.term_end)};
}

std::optional<queue_outcome> queued_call::go_on() {
    const auto heard = news_by_now();
    if (!heard && !is_over()) return std::nullopt;
    if (!within_.is_live()) {
        leave_quietly();
        within_.refuse_lost();
    }
    return heard ? outcome_of(*heard) : leave();
}

queue_outcome queued_call::give_up(bool takes_grant) {
    const auto heard = within_.database().waits().heard(entry_.waiter());
    const bool is_granted = heard && heard->status == look_status::granted;
    if (is_granted && takes_grant && within_.is_live()) return outcome_of(*heard);
    if (within_.is_live()) leave_to_session();
    settle_later();
    within_.refuse_lost();
}

}  // namespace leasehold
