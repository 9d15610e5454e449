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
#include "session/session.hpp"

namespace leasehold {
namespace {

// The most for one statement about all mutexes among them, and one about all others; also the most
// that session_store::end() may be given.
constexpr std::size_t max_per_step = 256;

}  // namespace

void session::implementation::gave_up(
    const key& name, const owner_id& owner, lock_kind kind, std::int64_t ticket
) {
    const thread_guard guard{mutex_};
    remember({name, owner, kind, ticket, local_clock::now()});
}

void session::implementation::remember(ended_hold what) {
    const auto too_old = what.when - 2 * settings_.ttl;
    ended_holds_.remember(std::move(what), too_old);
}

// Runs after a heartbeat that renewed. It looks for everything that was remembered when the
// connection or the server is another one than before; otherwise, once in a ttl, for all that was
// not looked for since it was given up: behind a pooler, a crash may break no connection of ours,
// and nothing else shows it.
//
// This only looks: settle_in_doubt() comes next and releases the holds that have come back. It
// looks at the clock between two releases, and repeats failed releases without delaying the other
// holds. No statement begins after `until`, or the next heartbeat would be late.
void session::implementation::look_for_what_came_back() {
    const auto timeout = *settings_.heartbeat_every / 2;
    const auto until = local_clock::now() + timeout;
    if (std::exchange(must_look_from_start_, false)) {
        is_looking_ = true;
        const thread_guard guard{mutex_};
        ended_holds_.look_from_start();
    }
    if (local_clock::now() >= next_look_) {
        is_looking_ = true;
        next_look_ = local_clock::now() + jittered(settings_.ttl);
    }
    try {
        while (is_looking_ && local_clock::now() < until && !ending_.stop_requested()) {
            ended_holds::batch next;
            {
                // The end of a hold is as durable as the renewal that came after it. A later end
                // can still be forgotten, and is looked for later.
                const thread_guard guard{mutex_};
                next = ended_holds_.next(renewed_at_, max_per_step);
            }
            is_looking_ = !next.what.empty();
            if (next.what.empty()) return;
            connection& on = own_connection(timeout);
            const auto back = those_that_came_back(on, next.what, until);
            if (!back) return;
            give_up_again(*back);
            if (must_look_from_start_) return;  // that was on a new connection
            const thread_guard guard{mutex_};
            ended_holds_.looked_for(next);
        }
    } catch (const std::exception& failure) {
        database().connections().retire(std::move(own_connection_));
        database().tell({event_kind::warning, "", 0, failure.what()});
    }
    // The remaining holds, and those that failed, are looked for after the next heartbeat.
}

std::optional<std::vector<ended_hold>> session::implementation::those_that_came_back(
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
    const bool is_over = local_clock::now() >= until || ending_.stop_requested();
    if (!asked.empty() && is_over) return std::nullopt;
    const auto found = stores.get<holder_store>().look(on, holders);
    auto next = found.begin();
    for (const ended_hold& each : what) {
        if (each.kind != lock_kind::mutex && (next++)->has_value()) back.push_back(each);
    }
    return back;
}

void session::implementation::give_up_again(const std::vector<ended_hold>& back) {
    std::vector<std::string> names;
    if (!back.empty()) {
        const thread_guard guard{mutex_};
        // One owner has several keys, of a multi_lock.
        std::set<std::pair<owner_id, std::string>> to_go;
        for (const in_doubt_request& each : in_doubt_.all()) {
            to_go.emplace(each.owner, each.name.name());
        }
        for (const ended_hold& each : back) {
            if (each.ticket == 0 && is_watched(each.owner)) continue;  // adopted since
            if (!to_go.emplace(each.owner, each.name.name()).second) continue;
            in_doubt_.add({each.name, each.owner, local_clock::now(), each.kind});
            names.push_back(each.name.name());
        }
    }
    for (const std::string& each : names) {
        database().tell(
            {event_kind::warning, each, 0, "the database had forgotten a release; it is repeated"}
        );
    }
}

// The holds that an end() has to look for; nullopt if they are more than one statement can ask
// about. One entry per key is enough for the lock row of a mutex.
std::optional<std::vector<waiter_id>> session::implementation::last_had() const {
    const thread_guard guard{mutex_};
    std::vector<waiter_id> last;
    std::set<std::string> keys;
    for (const ended_hold& each : ended_holds_.all()) {
        const bool is_lock_row = each.kind == lock_kind::mutex && each.ticket == 0;
        if (is_lock_row && !keys.insert(each.name.name()).second) continue;
        if (last.size() == max_per_step) return std::nullopt;
        last.push_back({each.name, each.owner, each.ticket});
    }
    return last;
}

}  // namespace leasehold
