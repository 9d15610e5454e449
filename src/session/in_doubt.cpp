// Requests that lost their answers, and their outcome: each is released by owner id, repeatedly,
// until no part of it can be under way any more.
//
// | a request in doubt …                   | becomes                                            |
// |----------------------------------------|----------------------------------------------------|
// | was asked about in time                | nothing: goes on                                   |
// | was asked about after its time         | released, or not_granted where nothing was found   |
// | is there when the session ends         | the same, with one release; given_up where that    |
// |                                        | has no answer, or nobody is asked any more         |
// | comes after that                       | given_up with the session's last reference         |
#include <algorithm>
#include <functional>

#include "session/release.hpp"
#include "session/session.hpp"

namespace leasehold {
namespace {

// The longest time that a statement given up by its client can go on in a server: past every lock
// wait.
constexpr std::chrono::seconds in_doubt_duration{120};

}  // namespace

void session::implementation::note_in_doubt(in_doubt_request what) {
    {
        const thread_guard guard{mutex_};
        was_ever_in_doubt_ = true;
        in_doubt_.push_back(std::move(what));
        machine_->hurry(local_clock::now());
    }
    wake_all();
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

void session::implementation::settle(connection& on, store_set& stores, in_doubt_request& what) {
    const auto release = [&](const owner_id& owner) {
        const auto outcome = release_owner(database(), on, stores, what.name, owner, what.kind);
        what.was_there = what.was_there || outcome != release_outcome::not_held;
    };
    release(what.owner);
    if (what.then) release(*what.then);
}

void session::implementation::tell_settled(const in_doubt_request& what, event_reason how) const {
    if (!what.told_at) return;
    database().tell(
        {event_kind::doubt_settled,
         what.name.name(),
         0,
         "",
         how,
         local_clock::now() - *what.told_at}
    );
}

void session::implementation::tell_settled(const in_doubt_request& what) const {
    tell_settled(what, what.was_there ? event_reason::released : event_reason::not_granted);
}

std::vector<session::implementation::in_doubt_request> session::implementation::due_requests(
    local_clock::time_point now
) {
    const thread_guard guard{mutex_};
    const auto is_due = [&](const in_doubt_request& each) { return now >= each.not_before; };
    const auto due_end = std::stable_partition(in_doubt_.begin(), in_doubt_.end(), is_due);
    return {in_doubt_.begin(), due_end};
}

void session::implementation::settle_in_doubt() {
    const auto now = local_clock::now();
    std::vector<in_doubt_request> requests = due_requests(now);
    std::size_t asked = 0;
    bool has_failed = false;
    // The limit for one statement, and for all together; otherwise the next heartbeat would be
    // late.
    const auto timeout = *settings_.heartbeat_every / 2;
    try {
        for (in_doubt_request& each : requests) {
            // An end() that waits for this takes the remaining ones itself.
            if (local_clock::now() >= now + timeout || ending_.stop_requested()) break;
            connection& on = own_connection(timeout);
            settle(on, database().store_for(on), each);
            ++asked;
        }
    } catch (const std::exception&) {
        database().connections().retire(std::move(own_connection_));
        has_failed = true;
    }
    for (const in_doubt_request& each : note_settled(requests, asked, now, has_failed))
        tell_settled(each);
}

// Notes that the first `asked` requests were asked about. The answer is those of them that are
// over.
std::vector<session::implementation::in_doubt_request> session::implementation::note_settled(
    const std::vector<in_doubt_request>& due,
    std::size_t asked,
    local_clock::time_point now,
    bool has_failed
) {
    const thread_guard guard{mutex_};
    const std::size_t are_there =
        std::min(due.size(), in_doubt_.size());  // an end() takes them all
    for (std::size_t at = 0; at < are_there; ++at) in_doubt_[at].was_there = due[at].was_there;
    const auto middle = in_doubt_.begin() + static_cast<std::ptrdiff_t>(std::min(asked, are_there));
    // A request is deleted only after a release at a time when no part of it could be on its way
    // any more.
    const auto is_over = [&](const in_doubt_request& each) { return now > each.until; };
    const auto over = std::stable_partition(in_doubt_.begin(), middle, std::not_fn(is_over));
    for (auto each = over; each != middle; ++each) {
        remember({each->name, each->owner, each->kind, 0, now});
        if (each->then) remember({each->name, *each->then, each->kind, 0, now});
    }
    std::vector<in_doubt_request> ended{over, middle};
    auto next = in_doubt_.erase(over, middle);
    // The next round begins behind the request that ended this one. Otherwise, on a bad network, or
    // if one request waits for a transaction that stays open, a round would never reach the
    // last ones.
    if (has_failed && next != in_doubt_.end()) ++next;
    std::rotate(in_doubt_.begin(), next, in_doubt_.end());
    // The next heartbeat may be hours away, so requests in doubt do not wait for it.
    const auto soon = local_clock::now() + settle_interval;
    for (const in_doubt_request& each : in_doubt_) machine_->hurry(std::max(soon, each.not_before));
    return ended;
}

// Once the row has expired nothing can be granted to this session any more, so that one release is
// enough. Holds that live with the session are free already; this is for grants with a fixed term,
// which end by themselves if the database does not answer now.
void session::implementation::release_in_doubt_apart(
    bool has_failed, local_clock::time_point until
) noexcept {
    std::vector<in_doubt_request> requests;
    {
        const thread_guard guard{mutex_};
        requests.swap(in_doubt_);
    }
    bool is_over = false;
    for (in_doubt_request& each : requests) {
        is_over = is_over || !may_say_goodbye(has_failed, until);
        if (is_over) {
            tell_settled(each, event_reason::given_up);
            continue;
        }
        try {
            database().use_unchecked(parting(), [&](connection& on, store_set& stores) {
                settle(on, stores, each);
            });
            tell_settled(each);
        } catch (const std::exception& failure) {
            has_failed = true;
            database().tell({event_kind::release_failed, each.name.name(), 0, failure.what()});
            tell_settled(each, event_reason::given_up);
        }
    }
}

}  // namespace leasehold
