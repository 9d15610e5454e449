// The heartbeat thread of a session: renews, asks after news which grants are still held, settles
// requests in doubt, and cleans up after the dead.
#include <algorithm>
#include <functional>
#include <utility>

#include "core/jitter.hpp"
#include "leasehold/error.hpp"
#include "leasehold/reaper.hpp"
#include "locks/hold_store.hpp"
#include "locks/holder_store.hpp"
#include "session/reaper.hpp"
#include "session/release.hpp"
#include "session/session.hpp"
#include "session/session_store.hpp"

namespace leasehold {
namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;

// A heartbeat that is on time gets half of the time until the deadline, so that another one is
// possible if this one gets no answer. All that are about on time get the same limit, because MySQL
// learns of a new limit by a separate round trip. A heartbeat after failures gets half of the time
// that is left then.
milliseconds time_for_a_heartbeat(
    const session_settings& settings, local_clock::time_point deadline
) {
    const auto left = duration_cast<milliseconds>(deadline - local_clock::now());
    const auto usual = settings.ttl - *settings.margin - *settings.heartbeat_every;
    const bool is_about_on_time = left > usual - *settings.heartbeat_every / 2;
    return std::max((is_about_on_time ? usual : left) / 2, milliseconds{50});
}

}  // namespace

void session::implementation::keep_alive(std::stop_token stop) {
    while (!stop.stop_requested()) {
        nap next{};
        {
            const auto alive = weak_from_this().lock();
            if (!alive || !begin_step()) return;
            next = heartbeat_step();
            end_step();
        }
        if (!stop.stop_requested()) sleep(next, stop);
    }
}

// False if the session's owner has ended it: then no step may begin.
bool session::implementation::begin_step() {
    const thread_guard guard{mutex_};
    if (has_ended_) return false;
    is_in_step_ = true;
    has_its_answers_ = false;
    return true;
}

void session::implementation::note_answers(bool are_there) {
    const thread_guard guard{mutex_};
    has_its_answers_ = are_there;
}

void session::implementation::end_step() {
    {
        const thread_guard guard{mutex_};
        is_in_step_ = false;
    }
    changed_.notify_all();
}

session::implementation::nap session::implementation::heartbeat_step() {
    nap next{};
    bool is_live = false;
    bool may_say_goodbye = false;
    {
        const thread_guard guard{mutex_};
        is_live = machine_->is_live();
        next = {is_live ? machine_->next_heartbeat() : local_clock::now() + max_nap, changes_};
        // The end of the row frees the keys at once, so it comes after all holders were told.
        may_say_goodbye = !is_live && !has_ended_ && !takes_row_along_ && tellers_ == 0;
    }
    if (is_live && local_clock::now() >= next.until) {
        const bool is_renewed = beat();
        if (ending_.stop_requested()) return next;  // by a callback, or while one took its time
        if (is_renewed) look_for_what_came_back();
        settle_in_doubt();
        look_for_cluster();
        if (!ending_.stop_requested()) clean_up_after_the_dead();
    } else if (may_say_goodbye && !std::exchange(has_said_goodbye_, true)) {
        end_in_database(std::nullopt);  // what it held is free now, not only when the row expires
    }
    // Otherwise a hold with a fixed term, of which no process knows, would outlive the session.
    if (has_said_goodbye_ && local_clock::now() >= next_settlement_) {
        settle_in_doubt();
        next_settlement_ = local_clock::now() + settle_interval;
    }
    return next;
}

connection& session::implementation::own_connection(milliseconds timeout) {
    if (own_connection_ && own_connection_->state() != connection_state::idle) {
        database().connections().retire(std::move(own_connection_));
    }
    if (!own_connection_) {
        constexpr bool is_vital = true;
        own_connection_ =
            database().connections().connect_apart(timeout, ending_.get_token(), is_vital);
        if (std::exchange(has_had_one_, true)) {
            // The new connection may lead to another server, and notices may have been missed
            // meanwhile.
            must_look_from_start_ = true;
            must_look_for_cluster_ = true;
            is_in_cluster_ = false;
            const thread_guard guard{mutex_};
            must_ask_ = true;
        }
    }
    const auto limit = std::min(timeout, database().settings().statement_timeout);
    own_connection_->set_statement_timeout(std::max(limit, milliseconds{50}));
    return *own_connection_;
}

bool session::implementation::beat() {
    auto sent = local_clock::now();
    bool is_renewed = false;
    news told;
    try {
        connection& on = own_connection(time_for_a_heartbeat(settings_, deadline()));
        store_set& stores = database().store_for(on);
        auto answer =
            stores.get<session_store>().heartbeat(on, id_, settings_.ttl, news_answered());
        database().connections().note_answer();
        if (answer.status == heartbeat_status::noticed) {
            {
                // This is reset before the request: a grant that is watched while the request is
                // under way sets it again.
                const thread_guard guard{mutex_};
                const bool is_other = known_.incarnation != answer.news.incarnation;
                if (is_other || known_.notices != answer.news.notices) ++times_news_;
                if (is_other) must_look_from_start_ = true;
                known_ = answer.news;
                must_ask_ = false;
            }
            told = what_is_new(stores, on);
            sent = local_clock::now();
            // The news may be that the session is another process's now. A process that has taken
            // it since has made news again, which this process does not know.
            if (has_ended()) return false;
            answer = stores.get<session_store>().heartbeat(on, id_, settings_.ttl, known_);
        }
        local_clock::time_point answered;
        std::optional<local_clock::duration> gap;
        {
            const thread_guard guard{mutex_};
            // This is read under the lock: a deadline that a thread saw pass cannot move on any
            // more.
            answered = local_clock::now();
            is_renewed = answer.status == heartbeat_status::renewed;
            if (is_renewed) {
                const auto longest_before = machine_->longest_gap();
                machine_->renewed(sent, answered);
                renewed_at_ = sent;
                const auto longest = machine_->longest_gap();
                if (longest > longest_before && machine_->is_near_loss(longest)) gap = longest;
            } else if (answer.status == heartbeat_status::ended) {
                machine_->ended_by_server(answered);
            }  // or there is news again, and the next one is due at once
            if (must_ask_) machine_->hurry(answered);
        }
        if (gap) tell_gap(*gap);
        if (answered - sent > *settings_.heartbeat_every) {
            tell_late(event_reason::slow, "a heartbeat took longer than its interval", sent);
        }
    } catch (const std::exception& failure) {
        note_failure(failure);
        {
            const thread_guard guard{mutex_};
            machine_->failed(local_clock::now());
            must_ask_ = true;  // the question may have been the one that failed
        }
        if (!ending_.stop_requested()) tell_late(event_reason::failed, failure.what(), sent);
    }
    note_answers(true);  // an end() that waits for a callback below has no outage before it
    wake_all();          // the watch thread may have a later, or an earlier, deadline now
    tell_news(told);
    tell_losses();
    note_answers(false);
    return is_renewed;
}

bool session::implementation::has_ended() const {
    const thread_guard guard{mutex_};
    return has_ended_;
}

local_clock::duration session::implementation::longest_gap() const {
    const thread_guard guard{mutex_};
    return machine_->longest_gap();
}

void session::implementation::tell_late(
    event_reason why, std::string_view detail, local_clock::time_point sent
) {
    const auto took = local_clock::now() - sent;
    database().tell({event_kind::late_heartbeat, "", 0, detail, why, took});
}

void session::implementation::tell_gap(local_clock::duration gap) {
    const auto in_words = [](local_clock::duration time) {
        return std::to_string(duration_cast<milliseconds>(time).count()) + " ms";
    };
    database().tell(
        {event_kind::warning,
         "",
         0,
         "no heartbeat got through for " + in_words(gap) + ", and after " +
             in_words(settings_.ttl - *settings_.margin) +
             " the session would have been lost: where fail-overs take so long, raise its ttl"}
    );
}

void session::implementation::tell_news(const news& told) {
    // This comes after the renewal, since a callback may take long. The grants are watched until
    // now: a renewal that hangs must not keep a holder from being told at the deadline, or by
    // end().
    for (const auto& [each, why] : told.gone) {
        const hold& what = each->what();
        forget(*each);
        // An upgrade keeps its owner id, so this process would take an upgrade that is under way
        // for a hold that has come back.
        if (what.kind == lock_kind::mutex) gave_up(what.key, what.owner);
    }
    tell(told.gone, false, loss_reason::none);
    tell_requests(told.asked);
}

void session::implementation::note_failure(const std::exception& what) {
    const auto* const said = dynamic_cast<const error*>(&what);
    const bool gave_up = said != nullptr && said->code() == errc::timed_out;
    if (gave_up && own_connection_ && own_connection_->state() == connection_state::lost) {
        database().connections().note_silence();
    }
    database().connections().note_broken();
    database().connections().retire(std::move(own_connection_));
}

// The news that was looked into; if there is something to ask, any answer is news.
session_news session::implementation::news_answered() const {
    constexpr std::int64_t none = -1;
    const thread_guard guard{mutex_};
    return must_ask_ ? session_news{none} : known_;
}

// Finds the grants that were freed by force, and those whose holder was asked to let go.
session::implementation::news session::implementation::what_is_new(
    store_set& stores, connection& on
) {
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
        found = stores.get<hold_store>().standings(on, holds_of(grants.begin(), middle));
    }
    if (middle != grants.end()) {
        for (const bool is_held :
             stores.get<holder_store>().which_are_held(on, holds_of(middle, grants.end()))) {
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
        database().tell({event_kind::revoke_requested, what.key.name(), what.token.number, ""});
    }
}

void session::implementation::look_for_cluster() {
    if (ending_.stop_requested()) return;
    const bool has_become_one = database().has_several_writers() && !is_in_cluster_;
    if (!has_become_one && !must_look_for_cluster_ && !database().is_look_due()) return;
    try {
        database().look_for_cluster(own_connection(*settings_.heartbeat_every / 2));
        must_look_for_cluster_ = false;
        is_in_cluster_ = database().has_several_writers();
    } catch (const std::exception&) {
        // The next heartbeat tells of this failure.
        database().connections().retire(std::move(own_connection_));
    }
}

void session::implementation::clean_up_after_the_dead() {
    if (!settings_.reap_every || local_clock::now() < next_reap_) return;
    next_reap_ = local_clock::now() + jittered(*settings_.reap_every * 2);
    note_answers(true);
    try {
        reap_settings limits;
        limits.timeout = std::max(*settings_.heartbeat_every / 2, milliseconds{1});
        connection& on = own_connection(*limits.timeout);
        const auto done =
            reap_in_turn(database(), on, database().store_for(on), limits, *settings_.reap_every);
        const auto total = done.sessions_removed + done.locks_freed + done.locks_removed;
        if (total > 0) database().tell(reaped_rows(total));
        if (done.rows_left == 0) return;
        database().tell(
            {event_kind::warning, "", done.rows_left, "rows of the dead are locked by somebody"}
        );
    } catch (const std::exception& failure) {
        database().connections().retire(std::move(own_connection_));
        database().tell(
            {event_kind::warning, "", 0, std::string("clean-up failed: ") + failure.what()}
        );
    }
}

}  // namespace leasehold
