#include "locks/attempt.hpp"

#include <optional>

#include "core/error.hpp"

namespace leasehold {
namespace {

using stage = attempt_state;
using upshot = attempt_event;

struct transition {
    attempt_state now;
    attempt_event what;
    attempt_state next;
    attempt_state at_the_last;
    bool settles;
};

constexpr transition transitions[] = {
    {stage::sending, upshot::granted, stage::granted, stage::granted, false},
    {stage::sending, upshot::refused, stage::refused, stage::refused, false},
    {stage::sending, upshot::cleared, stage::sending, stage::refused, false},
    {stage::sending, upshot::session_ended, stage::ended, stage::ended, false},
    {stage::sending, upshot::not_done, stage::sending, stage::failed, false},
    {stage::sending, upshot::in_doubt, stage::asking, stage::asking, false},
    {stage::asking, upshot::found, stage::granted, stage::granted, false},
    {stage::asking, upshot::not_found, stage::sending, stage::failed, true},
    {stage::asking, upshot::unanswered, stage::unknown, stage::unknown, true},
};

}  // namespace

attempt_step after(attempt_state now, attempt_event what, bool is_last) noexcept {
    for (const transition& each : transitions) {
        if (each.now != now || each.what != what) continue;
        return {is_last ? each.at_the_last : each.next, each.settles};
    }
    return {now, false};
}

bool grant_attempt::carry_through(const bounds& of_call) {
    const session::implementation::under_way sending{within_};
    constexpr int max_failures = 2;
    asked_ = of_call.asked.value_or(local_clock::now());
    std::size_t sent = 0;
    int failures = 0;
    std::optional<error> failure;
    const auto is_last = [&](attempt_event what) {
        if (what == upshot::cleared) return sent > max_clearings();
        return !failure || !failure->is_transient() || failures == max_failures ||
               of_call.have_passed();
    };
    auto state = stage::sending;
    while (true) {
        attempt_event what{};
        try {
            if (state == stage::sending) {
                require_session(of_call);
                prepare();
                notices_ = within_.notices();
                sent_at_ = local_clock::now();
                ++sent;
                what = send(of_call);
            } else {
                what = find(of_call) ? upshot::found : upshot::not_found;
            }
        } catch (const error& thrown) {
            if (state == stage::asking) {
                what = upshot::unanswered;
                failure = no_answer(thrown);
            } else {
                ++failures;
                failure = thrown;
                what = thrown.outcome_is_unknown() ? upshot::in_doubt : upshot::not_done;
            }
        }
        if (what == upshot::found) tell_found();
        const attempt_step step = after(state, what, is_last(what));
        if (step.settles) settle();
        state = step.next;
        switch (state) {
            case stage::sending:
            case stage::asking:
                break;
            case stage::granted:
                accept();
                return true;
            case stage::refused:
                return false;
            case stage::ended:
                within_.found_ended();
            case stage::failed:
            case stage::unknown:
                throw error{*failure};
        }
    }
}

void grant_attempt::tell_found() {
    within_.database().tell(
        {event_kind::doubt_settled,
         first_key().name(),
         0,
         "a question found the grant whose answer was lost",
         event_reason::granted,
         local_clock::now() - sent_at_}
    );
}

error grant_attempt::no_answer(const error& why) const {
    return reworded(
        why,
        "it is unknown whether " + label() + (is_one() ? " was" : " were") +
            " acquired, and asking failed too: " + why.what() + "; the session releases " +
            (is_one() ? "it if it was" : "them if they were"),
        true
    );
}

}  // namespace leasehold
