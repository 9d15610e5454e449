#include "session/heartbeat.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "core/jitter.hpp"
#include "core/timed_wait.hpp"
#include "leasehold/error.hpp"
#include "leasehold/reaper.hpp"
#include "locks/hold_store.hpp"
#include "locks/holder_store.hpp"
#include "session/reaper.hpp"

namespace leasehold {
namespace {

using std::chrono::milliseconds;

}  // namespace

heartbeat::heartbeat(session_state& of, std::function<void()> say_goodbye)
    : state_(of), settings_(of.settings), say_goodbye_(std::move(say_goodbye)) {
    next_look_ = local_clock::now() + jittered(settings_.ttl);
    if (settings_.reap_every) next_reap_ = local_clock::now() + jittered(*settings_.reap_every);
}

std::optional<heartbeat::nap> heartbeat::step() {
    {
        const thread_guard guard{state_.mutex};
        if (state_.has_ended) return std::nullopt;
        step_ = step_state::awaits_answers;
    }
    const nap next = take_step();
    note_step(step_state::none);
    state_.changed.notify_all();
    return next;
}

void heartbeat::note_step(step_state now) {
    const thread_guard guard{state_.mutex};
    step_ = now;
}

heartbeat::step_state heartbeat::await_step(local_clock::time_point deadline) {
    thread_guard guard{state_.mutex};
    wait_until(guard, state_.changed, {}, deadline, [&]() LEASEHOLD_REQUIRES(state_.mutex) {
        return step_ == step_state::none;
    });
    return step_;
}

heartbeat::nap heartbeat::take_step() {
    nap next{};
    bool is_live = false;
    bool may_say_goodbye = false;
    {
        const thread_guard guard{state_.mutex};
        const lease_machine& lease = state_.grants.lease();
        is_live = lease.is_live();
        const auto later = local_clock::now() + grant_watch::max_nap;
        next = {is_live ? lease.next_heartbeat() : later, state_.changes};
        // The end of the row frees the keys at once, so it comes after all holders were told.
        const bool is_over = state_.has_ended || state_.takes_row_along;
        may_say_goodbye = !is_live && !is_over && !state_.grants.is_telling();
    }
    if (is_live && local_clock::now() >= next.until) {
        const bool is_renewed = beat();
        // A callback has ended the session, or another thread did while a callback ran.
        if (state_.ending.stop_requested()) return next;
        if (is_renewed) look_for_what_came_back();
        settle_in_doubt();
        look_for_cluster();
        if (!state_.ending.stop_requested()) clean_up_after_the_dead();
    } else if (may_say_goodbye && !std::exchange(has_said_goodbye_, true)) {
        say_goodbye_();  // what it held is free now, not only when the row expires
    }
    // Otherwise a hold with a fixed term, of which no process knows, would outlive the session.
    if (has_said_goodbye_ && local_clock::now() >= next_settlement_) {
        settle_in_doubt();
        next_settlement_ = local_clock::now() + settle_interval;
    }
    return next;
}

connection& heartbeat::own_connection(milliseconds timeout) {
    if (connection_ && connection_->state() != connection_state::idle) {
        database().connections().retire(std::move(connection_));
    }
    if (!connection_) {
        constexpr bool is_vital = true;
        connection_ =
            database().connections().connect_apart(timeout, state_.ending.get_token(), is_vital);
        if (std::exchange(has_had_one_, true)) {
            // The new connection may lead to another server, and notices may have been missed
            // meanwhile.
            must_look_from_start_ = true;
            must_look_for_cluster_ = true;
            is_in_cluster_ = false;
            const thread_guard guard{state_.mutex};
            state_.must_ask = true;
        }
    }
    const auto limit = std::min(timeout, database().settings().statement_timeout);
    connection_->set_statement_timeout(std::max(limit, milliseconds{50}));
    return *connection_;
}

bool heartbeat::beat() {
    auto sent = local_clock::now();
    bool is_renewed = false;
    news told;
    try {
        connection& on = own_connection(state_.lease().time_to_answer(local_clock::now()));
        store_set& stores = database().store_for(on);
        auto answer =
            stores.get<session_store>().heartbeat(on, state_.id, settings_.ttl, news_answered());
        database().connections().note_answer();
        if (answer.status == heartbeat_status::noticed) {
            note_news(answer.news);
            told = what_is_new(stores, on);
            sent = local_clock::now();
            // The news may be that the session is another process's now. A process that has taken
            // it since has made news again, which this process does not know.
            if (has_ended()) return false;
            answer = stores.get<session_store>().heartbeat(on, state_.id, settings_.ttl, known_);
        }
        is_renewed = answer.status == heartbeat_status::renewed;
        note_answer(answer.status, sent);
    } catch (const std::exception& failure) {
        note_failure(failure);
        if (!state_.ending.stop_requested()) tell_late(event_reason::failed, failure.what(), sent);
    }
    // An end() that waits for a callback below has no outage before it.
    note_step(step_state::has_its_answers);
    state_.wake_all();  // the watch thread may have a later, or an earlier, deadline now
    tell_news(told);
    state_.tell_losses();
    note_step(step_state::awaits_answers);
    return is_renewed;
}

bool heartbeat::has_ended() const {
    const thread_guard guard{state_.mutex};
    return state_.has_ended;
}

void heartbeat::note_news(const session_news& answered) {
    // `must_ask` is reset before the request: a grant that is watched while the request is under
    // way sets it again.
    const thread_guard guard{state_.mutex};
    const bool is_other = known_.incarnation != answered.incarnation;
    if (is_other || known_.notices != answered.notices) ++state_.times_news;
    if (is_other) must_look_from_start_ = true;
    known_ = answered;
    state_.must_ask = false;
}

void heartbeat::note_answer(heartbeat_status status, local_clock::time_point sent) {
    local_clock::time_point answered;
    std::optional<local_clock::duration> gap;
    {
        const thread_guard guard{state_.mutex};
        lease_machine& lease = state_.grants.lease();
        // This is read under the lock: a deadline that a thread saw pass cannot move on any more.
        answered = local_clock::now();
        if (status == heartbeat_status::renewed) {
            const auto longest_before = lease.longest_gap();
            lease.renewed(sent, answered);
            renewed_at_ = sent;
            const auto longest = lease.longest_gap();
            if (longest > longest_before && lease.is_near_loss(longest)) gap = longest;
        } else if (status == heartbeat_status::ended) {
            lease.ended_by_server(answered);
        }  // or there is news again, and the next one is due at once
        if (state_.must_ask) lease.hurry(answered);
    }
    if (gap) tell_gap(*gap);
    if (answered - sent > *settings_.heartbeat_every) {
        tell_late(event_reason::slow, "a heartbeat took longer than its interval", sent);
    }
}

void heartbeat::tell_late(event_reason why, std::string_view detail, local_clock::time_point sent) {
    const auto took = local_clock::now() - sent;
    database().tell({event_kind::late_heartbeat, "", 0, detail, why, took});
}

void heartbeat::tell_gap(local_clock::duration gap) {
    const auto in_words = [](local_clock::duration time) {
        return std::to_string(std::chrono::duration_cast<milliseconds>(time).count()) + " ms";
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

void heartbeat::tell_news(const news& told) {
    // This comes after the renewal, since a callback may take long. The grants are watched until
    // now: a renewal that hangs must not keep a holder from being told at the deadline, or by
    // end().
    for (const auto& [each, why] : told.gone) {
        const hold& what = each->what();
        {
            const thread_guard guard{state_.mutex};
            state_.grants.remove(*each);
        }
        // An upgrade keeps its owner id, so this process would take an upgrade that is under way
        // for a hold that has come back.
        if (what.kind == lock_kind::mutex) state_.gave_up(what.key, what.owner, what.kind);
    }
    state_.tell(told.gone, false, loss_reason::none);
    for (const auto& each : told.asked) {
        if (!each->ask_back()) continue;
        const hold& what = each->what();
        database().tell({event_kind::revoke_requested, what.key.name(), what.token.number, ""});
    }
}

void heartbeat::note_failure(const std::exception& what) {
    const auto* const said = dynamic_cast<const error*>(&what);
    const bool gave_up = said != nullptr && said->code() == errc::timed_out;
    if (gave_up && connection_ && connection_->state() == connection_state::lost) {
        database().connections().note_silence();
    }
    database().connections().note_broken();
    database().connections().retire(std::move(connection_));
    const thread_guard guard{state_.mutex};
    state_.grants.lease().failed(local_clock::now());
    state_.must_ask = true;  // the question may have been the one that failed
}

// The news that was looked into; if there is something to ask, any answer is news.
session_news heartbeat::news_answered() const {
    constexpr std::int64_t none = -1;
    const thread_guard guard{state_.mutex};
    return state_.must_ask ? session_news{none} : known_;
}

// Finds the grants that were freed by force, and those whose holder was asked to let go.
heartbeat::news heartbeat::what_is_new(store_set& stores, connection& on) {
    std::vector<std::shared_ptr<grant>> grants = state_.watched();
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

void heartbeat::look_for_cluster() {
    if (state_.ending.stop_requested()) return;
    const bool has_become_one = database().has_several_writers() && !is_in_cluster_;
    if (!has_become_one && !must_look_for_cluster_ && !database().is_look_due()) return;
    try {
        database().look_for_cluster(own_connection(*settings_.heartbeat_every / 2));
        must_look_for_cluster_ = false;
        is_in_cluster_ = database().has_several_writers();
    } catch (const std::exception&) {
        // The next heartbeat tells of this failure.
        database().connections().retire(std::move(connection_));
    }
}

void heartbeat::clean_up_after_the_dead() {
    if (!settings_.reap_every || local_clock::now() < next_reap_) return;
    next_reap_ = local_clock::now() + jittered(*settings_.reap_every * 2);
    note_step(step_state::has_its_answers);
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
        database().connections().retire(std::move(connection_));
        database().tell(
            {event_kind::warning, "", 0, std::string("clean-up failed: ") + failure.what()}
        );
    }
}

}  // namespace leasehold
