#include "session/session_state.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "core/timed_wait.hpp"

namespace leasehold {

std::optional<session_state::nap> session_state::watch_step() {
    nap next{};
    {
        const thread_guard guard{mutex};
        if (has_nothing_left()) return std::nullopt;
        next.changes = changes;  // before looking: a later change is looked at again
    }
    tell_losses();
    const thread_guard guard{mutex};
    next.until = grants.next_loss();
    return next;
}

void session_state::tell_losses() {
    std::optional<grant_watch::losses> found;
    {
        const thread_guard guard{mutex};
        found = grants.take_losses(local_clock::now(), lost.stop_requested());
    }
    if (!found) return;
    tell(found->grants, found->are_of_session, found->why);
    {
        const thread_guard guard{mutex};
        grants.note_told(*found);
        // Grants at their limits are in doubt from when their holders have been told, and had the
        // time to stop.
        for (const auto& [each, reason] : found->grants) {
            const auto limit = each->limited();
            if (!found->are_of_limits || !limit) continue;
            const hold& what = each->what();
            in_doubt.add({what.key, what.owner, limit->over, what.kind, {}, limit->over});
            grants.lease().hurry(limit->over);
        }
    }
    wake_all();
}

void session_state::tell(
    const std::vector<lost_grant>& losses, bool session_is_lost, loss_reason why
) {
    if (session_is_lost) over.request_stop();
    if (session_is_lost && lost.request_stop()) {
        const std::string said = std::string("session lost: ") + name_of(why);
        database().tell({event_kind::lost, "", 0, said, reason_of(why)});
    }
    for (const auto& [each, reason] : losses) {
        if (each->lose(reason)) database().tell(loss_of(*each, reason));
    }
}

void session_state::sleep(const nap& pause, const std::stop_token& stop) {
    thread_guard guard{mutex};
    const auto until = std::min(pause.until, local_clock::now() + grants.longest_nap());
    wait_until(guard, changed, stop, until, [&]() LEASEHOLD_REQUIRES(mutex) {
        return changes != pause.changes;
    });
}

void session_state::wake_all() {
    {
        const thread_guard guard{mutex};
        ++changes;
    }
    changed.notify_all();
}

void session_state::gave_up(
    const key& name, const owner_id& owner, lock_kind kind, std::int64_t ticket
) {
    const thread_guard guard{mutex};
    remember({name, owner, kind, ticket, local_clock::now()});
}

void session_state::remember(ended_hold what) {
    const auto too_old = what.when - 2 * settings.ttl;
    given_up.remember(std::move(what), too_old);
}

// The holds that an end() has to look for; nullopt if they are more than one statement can ask
// about. One entry per key is enough for the lock row of a mutex.
std::optional<std::vector<waiter_id>> session_state::last_had() const {
    const thread_guard guard{mutex};
    std::vector<waiter_id> last;
    std::set<std::string> keys;
    for (const ended_hold& each : given_up.all()) {
        const bool is_lock_row = each.kind == lock_kind::mutex && each.ticket == 0;
        if (is_lock_row && !keys.insert(each.name.name()).second) continue;
        if (last.size() == ended_holds::max_per_statement) return std::nullopt;
        last.push_back({each.name, each.owner, each.ticket});
    }
    return last;
}

}  // namespace leasehold
