// What a session has given up, and the database may have forgotten: a release that was committed
// and not flushed when the server crashed, or not yet sent to the standby that was promoted, or
// made after the copy that was put back. The hold is there again then, and lives for as long as the
// session, whose heartbeats know nothing of it.
//
// How long such a row has to be looked for: it is alive only where the session's own row is, and
// that lives for one ttl from the last heartbeat that is in that data. So what was given up more
// than one ttl before the first heartbeat on that data is in it as given up. Two, since one that
// nobody notices the start of is looked for once in a ttl.
#include <algorithm>
#include <set>
#include <utility>

#include "core/jitter.hpp"
#include "session/pass_on.hpp"
#include "session/session.hpp"
#include "store/holder_store.hpp"
#include "store/waiter_store.hpp"

namespace leasehold {
namespace {

// Of memory, about 10 MB; reached by 1,000 releases a second at a ttl of half a minute.
constexpr std::size_t remembered_max = 65'536;
// One statement for all mutexes among them; and what session_store::end() may be given.
constexpr std::size_t per_step_max = 256;

}  // namespace

void session::implementation::gave_up(
    const key& name, const owner_id& owner, lock_kind kind, std::int64_t ticket
) {
    const std::lock_guard guard{mutex_};
    remember({name, owner, kind, ticket, local_clock::now()});
}

void session::implementation::remember(given_up what) {
    const auto forget_oldest = [&] {
        given_up_.pop_front();
        if (looked_for_ > 0) --looked_for_;
    };
    const auto too_old = what.when - 2 * settings_.ttl;
    while (!given_up_.empty() && given_up_.front().when < too_old) forget_oldest();
    if (given_up_.size() == remembered_max) forget_oldest();
    given_up_.push_back(std::move(what));
}

// Behind a heartbeat that renewed. Everything that was remembered, on a connection or a server that
// is another one than before; otherwise once in a ttl what was not looked for since it was given
// up: a crash that broke no connection of ours, behind a pooler, is seen by nothing else.
void session::implementation::look_for_what_came_back() {
    const auto patience = settings_.heartbeat_every / 2;
    const auto until = local_clock::now() + patience;
    if (std::exchange(must_look_from_start_, false)) {
        is_looking_ = true;
        const std::lock_guard guard{mutex_};
        looked_for_ = 0;
    }
    if (local_clock::now() >= next_look_) {
        is_looking_ = true;
        next_look_ = local_clock::now() + jittered(settings_.ttl);
    }
    try {
        while (is_looking_ && local_clock::now() < until) {
            const auto what = next_given_up();
            is_looking_ = !what.empty();
            if (what.empty()) return;
            connection& on = own_connection(patience);
            give_up_again(on, inner().store_for(on), what);
            if (must_look_from_start_) return;  // that was on a new connection
            const std::lock_guard guard{mutex_};
            looked_for_ = std::min(looked_for_ + what.size(), given_up_.size());
        }
    } catch (const std::exception& failure) {
        own_connection_.reset();
        inner().tell({event_kind::warning, "", 0, failure.what()});
    }
    // The rest, or what failed, after the next heartbeat.
}

// Whose end is as durable as the renewal that came after it: a younger one can still be forgotten,
// and is looked for later.
std::vector<session::implementation::given_up> session::implementation::next_given_up() const {
    const std::lock_guard guard{mutex_};
    std::vector<given_up> next;
    for (std::size_t at = looked_for_; at < given_up_.size(); ++at) {
        if (given_up_[at].when >= renewed_at_ || next.size() == per_step_max) break;
        next.push_back(given_up_[at]);
    }
    return next;
}

void session::implementation::give_up_again(
    connection& on, store& stores, const std::vector<given_up>& what
) {
    std::vector<waiting> asked;
    for (const given_up& each : what) {
        if (each.kind == lock_kind::mutex) asked.push_back({each.name, each.owner, each.ticket});
    }
    const auto found = asked.empty() ? std::vector<look_result>{} : stores.waiters->look(on, asked);
    auto next_found = found.begin();
    for (const given_up& each : what) {
        const bool is_mutex = each.kind == lock_kind::mutex;
        // Who was in the queue may have been granted the key since, rightly.
        const auto back = each.ticket != 0 ? look_status::waiting : look_status::granted;
        const bool is_back = is_mutex ? (next_found++)->status == back
                                      : stores.holders->look(on, each.name, each.owner).has_value();
        if (!is_back) continue;
        {
            const std::lock_guard guard{mutex_};
            if (each.ticket == 0 && is_watched(each.owner)) continue;  // adopted since
        }
        release_owner(inner(), on, stores, each.name, each.owner, each.kind);
        inner().tell(
            {event_kind::warning,
             each.name.name(),
             0,
             "the database had forgotten a release; it was repeated"}
        );
    }
}

// What an end() has to look for; nothing where it is more than one statement can ask about. Of a
// mutex's lock row the key is enough.
std::optional<std::vector<waiting>> session::implementation::last_had() const {
    const std::lock_guard guard{mutex_};
    std::vector<waiting> last;
    std::set<std::string> keys;
    for (const given_up& each : given_up_) {
        const bool is_lock_row = each.kind == lock_kind::mutex && each.ticket == 0;
        if (is_lock_row && !keys.insert(each.name.name()).second) continue;
        if (last.size() == per_step_max) return std::nullopt;
        last.push_back({each.name, each.owner, each.ticket});
    }
    return last;
}

}  // namespace leasehold
