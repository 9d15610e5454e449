// Holds that a session has given up, and whose release the database may have forgotten: the release
// was committed and not flushed when the server crashed, or not yet sent to the standby that was
// promoted, or made after the copy that was put back. Then the hold exists again, and lives for as
// long as the session, whose heartbeats know nothing of it.
//
// The session looks for such a row for a limited time: the row is alive only if the session's
// own row is, and that lives for one ttl from the last heartbeat that is in that data. So a hold
// that was given up more than one ttl before the first heartbeat on that data is given up in it,
// too. The limit is two ttls, since a server whose start nobody notices is looked at once in a ttl.
#include <set>
#include <string>
#include <utility>

#include "core/jitter.hpp"
#include "locks/holder_store.hpp"
#include "locks/waiter_store.hpp"
#include "session/heartbeat.hpp"

namespace leasehold {

// Runs after a heartbeat that renewed. It looks for everything that was remembered when the
// connection or the server is another one than before; otherwise, once in a ttl, for all that was
// not looked for since it was given up: behind a pooler, a crash may break no connection of ours,
// and nothing else shows it.
//
// This only looks: settle_in_doubt() comes next and releases the holds that have come back. It
// looks at the clock between two releases, and repeats failed releases without delaying the other
// holds. No statement begins after `until`, or the next heartbeat would be late.
void heartbeat::look_for_what_came_back() {
    const auto timeout = *settings_.heartbeat_every / 2;
    const auto until = local_clock::now() + timeout;
    if (std::exchange(must_look_from_start_, false)) {
        is_looking_ = true;
        const thread_guard guard{state_.mutex};
        state_.given_up.look_from_start();
    }
    if (local_clock::now() >= next_look_) {
        is_looking_ = true;
        next_look_ = local_clock::now() + jittered(settings_.ttl);
    }
    try {
        while (is_looking_ && local_clock::now() < until && !state_.ending.stop_requested()) {
            ended_holds::batch next;
            {
                // The end of a hold is as durable as the renewal that came after it. A later end
                // can still be forgotten, and is looked for later.
                const thread_guard guard{state_.mutex};
                next = state_.given_up.next(renewed_at_, ended_holds::max_per_statement);
            }
            is_looking_ = !next.what.empty();
            if (next.what.empty()) return;
            connection& on = own_connection(timeout);
            const auto back = those_that_came_back(on, next.what, until);
            if (!back) return;
            give_up_again(*back);
            if (must_look_from_start_) return;  // that was on a new connection
            const thread_guard guard{state_.mutex};
            state_.given_up.looked_for(next);
        }
    } catch (const std::exception& failure) {
        database().connections().retire(std::move(connection_));
        database().tell({event_kind::warning, "", 0, failure.what()});
    }
    // The remaining holds, and those that failed, are looked for after the next heartbeat.
}

std::optional<std::vector<ended_hold>> heartbeat::those_that_came_back(
    connection& on, const std::vector<ended_hold>& what, local_clock::time_point until
) {
    store_set& stores = database().store_for(on);
    std::vector<ended_hold> back;
    std::vector<waiter_id> asked;
    std::vector<holder_id> holders;
    for (const ended_hold& each : what) {
        if (each.kind == lock_kind::mutex) {
            asked.push_back({each.name, each.owner, each.ticket});
        } else {
            holders.push_back({each.name, each.owner});
        }
    }
    if (!asked.empty()) {
        const auto found = stores.get<waiter_store>().look(on, asked);
        auto next = found.begin();
        for (const ended_hold& each : what) {
            if (each.kind != lock_kind::mutex) continue;
            // A waiter in the queue may have been granted the key since, rightly.
            const auto is_back = each.ticket != 0 ? look_status::waiting : look_status::granted;
            if ((next++)->status == is_back) back.push_back(each);
        }
    }
    if (holders.empty()) return back;
    const bool is_over = local_clock::now() >= until || state_.ending.stop_requested();
    if (!asked.empty() && is_over) return std::nullopt;
    const auto found = stores.get<holder_store>().look(on, holders);
    auto next = found.begin();
    for (const ended_hold& each : what) {
        if (each.kind != lock_kind::mutex && (next++)->has_value()) back.push_back(each);
    }
    return back;
}

void heartbeat::give_up_again(const std::vector<ended_hold>& back) {
    std::vector<std::string> names;
    if (!back.empty()) {
        const thread_guard guard{state_.mutex};
        // One owner has several keys, of a multi_lock.
        std::set<std::pair<owner_id, std::string>> to_go;
        for (const in_doubt_request& each : state_.in_doubt.all()) {
            to_go.emplace(each.owner, each.name.name());
        }
        for (const ended_hold& each : back) {
            if (each.ticket == 0 && state_.grants.has(each.owner)) continue;  // adopted since
            if (!to_go.emplace(each.owner, each.name.name()).second) continue;
            state_.in_doubt.add({each.name, each.owner, local_clock::now(), each.kind});
            names.push_back(each.name.name());
        }
    }
    for (const std::string& each : names) {
        database().tell(
            {event_kind::warning, each, 0, "the database had forgotten a release; it is repeated"}
        );
    }
}

}  // namespace leasehold
