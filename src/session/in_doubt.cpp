// A session adds requests in doubt here, and it or its heartbeat sends their releases.
#include <algorithm>
#include <utility>

#include "session/session.hpp"

namespace leasehold {
namespace {

// The longest time that a statement given up by its client can go on in a server: past every lock
// wait.
constexpr std::chrono::seconds in_doubt_duration{120};

}  // namespace

void session::implementation::note_in_doubt(in_doubt_request what) {
    {
        const thread_guard guard{state_.mutex};
        state_.in_doubt.add(std::move(what));
        state_.grants.lease().hurry(local_clock::now());
    }
    state_.wake_all();
}

void session::implementation::give_back_later(
    const key& name, const owner_id& owner, lock_kind kind
) {
    note_in_doubt({name, owner, local_clock::now(), kind});
}

void session::implementation::settle_later(const key& name, const owner_id& owner, lock_kind kind) {
    const auto now = local_clock::now();
    database().tell({event_kind::outcome_unknown, name.name(), 0, "a request lost its answer"});
    note_in_doubt({name, owner, now + in_doubt_duration, kind, {}, {}, now});
}

void session::implementation::settle_pending(
    const key& name, const owner_id& granted, const owner_id& moved
) {
    const auto now = local_clock::now();
    database().tell(
        {event_kind::outcome_unknown, name.name(), 0, "a pending lease was not confirmed"}
    );
    note_in_doubt({name, granted, now, lock_kind::mutex, moved, {}, now});
}

void heartbeat::settle_in_doubt() {
    const auto now = local_clock::now();
    in_doubt_requests::list requests;
    {
        const thread_guard guard{state_.mutex};
        requests = state_.in_doubt.due(now);
    }
    std::size_t asked = 0;
    bool has_failed = false;
    // The limit for one statement, and for all together; otherwise the next heartbeat would be
    // late.
    const auto timeout = *settings_.heartbeat_every / 2;
    try {
        for (in_doubt_request& each : requests) {
            // An end() that waits for this takes the remaining ones itself.
            if (local_clock::now() >= now + timeout || state_.ending.stop_requested()) break;
            connection& on = own_connection(timeout);
            each.release(database(), on, database().store_for(on));
            ++asked;
        }
    } catch (const std::exception&) {
        database().connections().retire(std::move(connection_));
        has_failed = true;
    }
    in_doubt_requests::list ended;
    {
        const thread_guard guard{state_.mutex};
        ended = state_.in_doubt.note_asked(requests, asked, now, has_failed);
        for (const in_doubt_request& each : ended) {
            state_.remember({each.name, each.owner, each.kind, 0, now});
            if (each.then) state_.remember({each.name, *each.then, each.kind, 0, now});
        }
        // The next heartbeat may be hours away, so requests in doubt do not wait for it.
        const auto soon = local_clock::now() + settle_interval;
        for (const in_doubt_request& each : state_.in_doubt.all()) {
            state_.grants.lease().hurry(std::max(soon, each.not_before));
        }
    }
    for (const in_doubt_request& each : ended) each.tell_settled(database());
}

// Once the row has expired nothing can be granted to this session any more, so that one release is
// enough. Holds that live with the session are free already; this is for grants with a fixed term,
// which end by themselves if the database does not answer now.
void session::implementation::release_in_doubt_apart(
    bool has_failed, local_clock::time_point until
) noexcept {
    in_doubt_requests::list requests;
    {
        const thread_guard guard{state_.mutex};
        requests = state_.in_doubt.take_all();
    }
    bool is_over = false;
    for (in_doubt_request& each : requests) {
        is_over = is_over || !may_say_goodbye(has_failed, until);
        if (is_over) {
            each.tell_settled(database(), event_reason::given_up);
            continue;
        }
        try {
            database().use_unchecked(parting(), [&](connection& on, store_set& stores) {
                each.release(database(), on, stores);
            });
            each.tell_settled(database());
        } catch (const std::exception& failure) {
            has_failed = true;
            database().tell({event_kind::release_failed, each.name.name(), 0, failure.what()});
            each.tell_settled(database(), event_reason::given_up);
        }
    }
}

}  // namespace leasehold
