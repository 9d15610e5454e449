// The heartbeat thread of a session: renews, asks what is still held when told of news, settles
// what is in doubt, and cleans up after the dead.
#include <algorithm>
#include <utility>

#include "core/jitter.hpp"
#include "leasehold/error.hpp"
#include "leasehold/reaper.hpp"
#include "session/pass_on.hpp"
#include "session/session.hpp"
#include "upkeep/reaper.hpp"

namespace leasehold {
namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;

// How often the releases of what is in doubt are repeated, at least.
constexpr std::chrono::seconds doubt_interval{1};

// Half of what a heartbeat that is on time has left, so that another one fits in when this one gets
// no answer. The same for all that are about on time, because MySQL is told of each new limit in a
// round trip of its own; one that comes after failures gets half of what is left then.
milliseconds time_for_a_heartbeat(
    const session_settings& settings, local_clock::time_point deadline
) {
    const auto left = duration_cast<milliseconds>(deadline - local_clock::now());
    const auto usual = settings.ttl - settings.margin - settings.heartbeat_every;
    const bool is_about_on_time = left > usual - settings.heartbeat_every / 2;
    return std::max((is_about_on_time ? usual : left) / 2, milliseconds{50});
}

}  // namespace

void session::implementation::keep_alive(std::stop_token stop) {
    while (!stop.stop_requested()) {
        nap next{};
        {
            const auto alive = weak_from_this().lock();
            if (!alive) return;
            next = heartbeat_step();
        }
        if (!stop.stop_requested()) sleep(next, stop);
    }
}

session::implementation::nap session::implementation::heartbeat_step() {
    nap next{};
    bool is_live = false;
    bool may_say_goodbye = false;
    {
        const std::lock_guard guard{mutex_};
        is_live = machine_->is_live();
        next = {is_live ? machine_->next_heartbeat() : local_clock::now() + nap_max, changes_};
        // Not before everybody was told: it lets others have the keys at once.
        may_say_goodbye = !is_live && !has_ended_ && tellers_ == 0;
    }
    if (is_live && local_clock::now() >= next.until) {
        beat();
        settle_doubts();
        clean_up_after_the_dead();
    } else if (may_say_goodbye && !std::exchange(has_said_goodbye_, true)) {
        end_in_database(false);  // what it held is free now, not only when the row expires
    }
    // A fixed term that nobody knows of would outlive the session.
    if (has_said_goodbye_ && local_clock::now() >= next_settlement_) {
        settle_doubts();
        next_settlement_ = local_clock::now() + doubt_interval;
    }
    return next;
}

connection& session::implementation::own_connection(milliseconds patience) {
    if (own_connection_ && own_connection_->state() != connection_state::idle) {
        own_connection_.reset();
        inner().connections().note_broken();
    }
    if (!own_connection_) own_connection_ = inner().connections().connect_apart(patience);
    const auto limit = std::min(patience, inner().settings().statement_timeout);
    own_connection_->set_statement_timeout(std::max(limit, milliseconds{50}));
    return *own_connection_;
}

void session::implementation::beat() {
    auto sent = local_clock::now();
    news told;
    try {
        connection& on = own_connection(time_for_a_heartbeat(settings_, deadline()));
        store& stores = inner().store_for(on);
        auto answer = stores.sessions->heartbeat(on, id_, settings_.ttl, notices_answered());
        if (answer.status == heartbeat_status::noticed) {
            {
                // Before asking: a grant that is watched while the question is under way sets it
                // again.
                const std::lock_guard guard{mutex_};
                notices_ = answer.notices;
                must_ask_ = false;
            }
            told = what_is_new(stores, on);
            sent = local_clock::now();
            answer = stores.sessions->heartbeat(on, id_, settings_.ttl, notices());
        }
        local_clock::time_point answered;
        {
            const std::lock_guard guard{mutex_};
            // Read with the lock: a deadline that somebody saw pass cannot move on any more.
            answered = local_clock::now();
            if (answer.status == heartbeat_status::renewed) {
                machine_->renewed(sent, answered);
            } else if (answer.status == heartbeat_status::ended) {
                machine_->ended_by_server(answered);
            }  // or there is news again, and the next one is due at once
            if (must_ask_) machine_->hurry(answered);
        }
        if (answered - sent > settings_.heartbeat_every) {
            inner().tell(
                {event_kind::late_heartbeat, "", 0, "a heartbeat took longer than its interval"}
            );
        }
    } catch (const std::exception& failure) {
        own_connection_.reset();
        inner().connections().note_broken();
        {
            const std::lock_guard guard{mutex_};
            machine_->failed(local_clock::now());
            must_ask_ = true;  // the question may have been the one that failed
        }
        inner().tell({event_kind::late_heartbeat, "", 0, failure.what()});
    }
    wake_all();  // the watch thread may have a later, or an earlier, deadline now
    // After the renewal, since whoever is told may take his time. Watched until now: a renewal that
    // hangs must not keep anybody from being told at the deadline, or by end().
    for (const auto& [each, why] : told.gone) forget(*each);
    tell(told.gone, false, loss_reason::none);
    tell_requests(told.asked);
    tell_losses();
}

// The notices that have been looked into; where there is something to ask, any answer is news.
std::int64_t session::implementation::notices_answered() const {
    constexpr std::int64_t none = -1;
    const std::lock_guard guard{mutex_};
    return must_ask_ ? none : notices_;
}

// What was freed by force, and what its holder was asked for.
session::implementation::news session::implementation::what_is_new(store& stores, connection& on) {
    std::vector<std::shared_ptr<grant>> grants = watched();
    const auto is_mutex = [](const auto& each) { return each->what().kind == lock_kind::mutex; };
    const auto middle = std::partition(grants.begin(), grants.end(), is_mutex);
    const auto holds_of = [](auto from, auto to) {
        std::vector<hold> holds;
        for (; from != to; ++from) holds.push_back((*from)->what());
        return holds;
    };
    std::vector<standing> found;
    if (middle != grants.begin()) {
        found = stores.locks->standings(on, holds_of(grants.begin(), middle));
    }
    if (middle != grants.end()) {
        for (const bool is_held :
             stores.holders->which_are_held(on, holds_of(middle, grants.end()))) {
            found.push_back(is_held ? standing::held : standing::gone);
        }
    }
    news told;
    for (std::size_t at = 0; at < grants.size(); ++at) {
        if (found[at] == standing::asked) told.asked.push_back(grants[at]);
        if (found[at] != standing::gone) continue;
        told.gone.emplace_back(grants[at], loss_reason::taken_over);
    }
    return told;
}

void session::implementation::tell_requests(const std::vector<std::shared_ptr<grant>>& asked) {
    for (const auto& each : asked) {
        if (!each->ask_back()) continue;
        const hold& what = each->what();
        inner().tell({event_kind::revoke_requested, what.key.name(), what.token.number, ""});
    }
}

void session::implementation::settle(connection& on, store& stores, const doubt& what) {
    release_owner(inner(), on, stores, what.name, what.owner, what.kind);
    if (what.then) release_owner(inner(), on, stores, what.name, *what.then, what.kind);
}

void session::implementation::settle_doubts() {
    const auto now = local_clock::now();
    std::vector<doubt> doubts;
    {
        const std::lock_guard guard{mutex_};
        if (doubts_.empty()) return;
        doubts = doubts_;
    }
    std::size_t asked = 0;
    bool has_failed = false;
    // For one statement, and for all together, or the next heartbeat would be late.
    const auto patience = settings_.heartbeat_every / 2;
    try {
        for (const doubt& each : doubts) {
            if (local_clock::now() >= now + patience) break;
            connection& on = own_connection(patience);
            settle(on, inner().store_for(on), each);
            ++asked;
        }
    } catch (const std::exception&) {
        own_connection_.reset();
        has_failed = true;
    }
    const std::lock_guard guard{mutex_};
    asked = std::min(asked, doubts_.size());  // an end() takes them all
    const auto middle = doubts_.begin() + static_cast<std::ptrdiff_t>(asked);
    // Gone only when released at a time when nothing could be on its way any more.
    const auto is_over = [&](const doubt& each) { return now > each.until; };
    auto next = doubts_.erase(std::remove_if(doubts_.begin(), middle, is_over), middle);
    // The next round begins behind the one that ended this one: on a bad network, or where one
    // waits for a transaction that stays open, the last ones would never be reached.
    if (has_failed && next != doubts_.end()) ++next;
    std::rotate(doubts_.begin(), next, doubts_.end());
    // What is in doubt does not wait for a heartbeat that may be hours away.
    if (!doubts_.empty()) machine_->hurry(local_clock::now() + doubt_interval);
}

void session::implementation::clean_up_after_the_dead() {
    if (settings_.reap_every == milliseconds{0} || local_clock::now() < next_reap_) return;
    next_reap_ = local_clock::now() + jittered(settings_.reap_every * 2);
    try {
        reap_settings limits;
        limits.time_max = settings_.heartbeat_every / 2;
        connection& on = own_connection(limits.time_max);
        const auto done =
            take_turns_at_reaping(inner(), on, inner().store_for(on), limits, settings_.reap_every);
        const auto total = done.sessions_removed + done.locks_freed + done.locks_removed;
        if (total > 0) inner().tell({event_kind::reaped, "", total, "rows of the dead"});
        if (done.left == 0) return;
        inner().tell({event_kind::warning, "", done.left, "rows of the dead are locked by somebody"}
        );
    } catch (const std::exception& failure) {
        own_connection_.reset();
        inner().tell({event_kind::warning, "", 0, std::string("clean-up failed: ") + failure.what()}
        );
    }
}

}  // namespace leasehold
