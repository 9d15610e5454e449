#include "database/pool.hpp"

#include <algorithm>
#include <utility>

#include "core/jitter.hpp"
#include "core/timed_wait.hpp"
#include "leasehold/error.hpp"
#include "leasehold/stop.hpp"

namespace leasehold {
namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;

milliseconds left_until(local_clock::time_point deadline) {
    return duration_cast<milliseconds>(deadline - local_clock::now());
}

error not_wanted() {
    return {
        errc::timed_out,
        "no connection was waited for any longer: the call was cancelled, or its session has "
        "ended"};
}

void require_wanted(const std::stop_token& stop) {
    if (stop.stop_requested()) throw not_wanted();
}

}  // namespace

pool::pool(
    connector connect, const database_settings& settings, std::chrono::nanoseconds nap_trusted
)
    : connect_(std::move(connect)), settings_(settings), nap_trusted_(nap_trusted) {}

std::unique_ptr<connection> pool::take(const bounds& of_call) {
    require_at_home();
    const auto deadline = std::min(of_call.deadline, local_clock::now() + settings_.pool_timeout);
    wait_for_place(of_call, deadline, false);
    return take_counted(of_call, deadline);
}

void pool::require_at_home() const {
    if (home_.is_here()) return;
    throw error(
        errc::unsupported,
        "this database was opened by process " + std::to_string(home_.number()) +
            ", and this process is a fork of it: two processes cannot share a connection; open the "
            "database again here"
    );
}

std::unique_ptr<connection> pool::take_beside(const bounds& of_call) {
    require_at_home();
    {
        const thread_guard guard{mutex_};
        ++lent_;
    }
    return take_counted(
        of_call, std::min(of_call.deadline, local_clock::now() + settings_.pool_timeout)
    );
}

// A connection apart takes no place of the pool. But it must wait once as many connections as the
// pool may have were given up: one more would get no answer either, and would fill the server.
void pool::wait_for_place(const bounds& of_call, local_clock::time_point deadline, bool is_apart) {
    const either_stop stop{of_call.cancel, of_call.over};
    const auto asked = local_clock::now();
    for (bool has_waited = false;;) {
        bool is_turn = false;
        {
            thread_guard guard{mutex_};
            const auto has_place = [&]() LEASEHOLD_REQUIRES(mutex_) {
                return is_place_free() || (is_apart && lent_ < 2 * settings_.max_connections);
            };
            const auto has_turn = [&]() LEASEHOLD_REQUIRES(mutex_) {
                return has_place() || may_settle();
            };
            is_turn = has_turn();
            has_waited = has_waited || !is_turn;
            while (!is_turn && local_clock::now() < deadline && !stop.token().stop_requested()) {
                const auto wake = std::min(deadline, next_look());
                is_turn = wait_until(guard, given_back_, stop.token(), wake, has_turn);
            }
            if (is_turn && has_place()) {
                if (is_apart && has_waited) given_back_.notify_one();  // it was woken for a place
                if (is_apart) return;
                ++lent_;
                if (!has_waited) return;
                break;
            }
            is_settling_ = is_settling_ || is_turn;
        }
        if (!is_turn) give_up(of_call, asked);
        settle(of_call, deadline);
    }
    tell_wait(event_reason::granted, asked);
}

void pool::tell_wait(event_reason how, local_clock::time_point asked) const {
    if (!settings_.observer) return;
    settings_.observer->on_event(
        {event_kind::connection_waited, "", 0, "", how, local_clock::now() - asked}
    );
}

pool_use pool::use() const {
    const thread_guard guard{mutex_};
    return {lent_, static_cast<int>(idle_.size()), settings_.max_connections};
}

void pool::give_up(const bounds& of_call, local_clock::time_point asked) const {
    const bool is_stopped = of_call.are_stopped();
    tell_wait(is_stopped ? event_reason::cancelled : event_reason::timed_out, asked);
    if (is_stopped) throw not_wanted();
    const auto waited = duration_cast<milliseconds>(local_clock::now() - asked);
    const std::string left = words_of_left();
    throw error(
        errc::timed_out,
        "all " + std::to_string(settings_.max_connections) + " connections were busy for " +
            std::to_string(waited.count()) + " ms" + left +
            (left.empty() ? "; raise max_connections or hold transactions for less time" : "")
    );
}

std::unique_ptr<connection> pool::take_counted(
    const bounds& of_call, local_clock::time_point deadline
) {
    try {
        while (auto idle = take_idle(of_call, deadline)) {
            if (idle->state() == connection_state::idle) return idle;
            note_broken();
        }
        return connect_within(of_call, deadline);
    } catch (...) {
        give_back(nullptr);
        throw;
    }
}

// A connection to lend, checked if it slept; null when a new one must be opened. The time of a
// check that failed does not shorten the time to open a new one: where packets vanish a check takes
// the whole statement time-out, while the server may be well. A call's own deadline stands. A
// good-bye has no time for such a check, and opens a new one.
std::unique_ptr<connection> pool::take_idle(
    const bounds& of_call, local_clock::time_point& deadline
) {
    while (true) {
        idle_connection found;
        {
            const thread_guard guard{mutex_};
            // The last idle connection is kept for a heartbeat whose new connection the server
            // refuses.
            const bool is_reserved = is_vital_refused_ && failures_in_a_row_ > 0;
            if (idle_.size() <= (is_reserved ? 1U : 0U)) return nullptr;
            found = std::move(idle_.back());
            idle_.pop_back();
        }
        const auto asked = local_clock::now();
        const bool is_fresh = asked - found.since < nap_trusted_;
        if (is_fresh) return std::move(found.held);
        if (!of_call.is_parting) {
            if (found.held->answers()) return std::move(found.held);
            note_broken();
            const auto now = local_clock::now();
            if (now - asked >= settings_.statement_timeout / 2) {
                auto expected = server_word::answer;
                last_word_.compare_exchange_strong(expected, server_word::silence);
            }
            const auto connected_by = now + settings_.connect_timeout;
            deadline = std::max(deadline, std::min(of_call.deadline, connected_by));
        }
        // All other idle connections have slept for longer, and are closed unasked: asking would be
        // in vain, and where packets vanish each question takes the whole statement time-out.
        std::vector<idle_connection> gone;
        const thread_guard guard{mutex_};
        gone.swap(idle_);
        return nullptr;
    }
}

std::unique_ptr<connection> pool::connect_within(
    const bounds& of_call, local_clock::time_point deadline
) {
    const either_stop stop{of_call.cancel, of_call.over};
    while (true) {
        const turn mine{*this, wait_for_turn(deadline, stop.token())};
        require_wanted(stop.token());
        const auto timeout =
            std::clamp(left_until(deadline), milliseconds{100}, settings_.connect_timeout);
        try {
            return attempt(timeout, stop.token());
        } catch (const error& failure) {
            require_wanted(stop.token());
            const thread_guard guard{mutex_};
            const bool may_pass = failure.is_transient() && connected_once_;
            if (!may_pass || of_call.is_parting || next_attempt_ >= deadline) throw;
        }
    }
}

// A failure counts, unless the caller has given the attempt up: that says nothing about the server.
std::unique_ptr<connection> pool::attempt(milliseconds timeout, const std::stop_token& stop) {
    const auto began = local_clock::now();
    try {
        auto made = connect_({timeout, stop});
        made->set_statement_timeout(settings_.statement_timeout);
        note_success();
        return made;
    } catch (const error&) {
        require_wanted(stop);
        note_failure(began, timeout);
        throw;
    }
}

std::unique_ptr<connection> pool::connect_apart(
    milliseconds timeout, const std::stop_token& stop, bool is_vital
) {
    require_at_home();
    bounds of_call;
    of_call.cancel = stop;
    of_call.deadline = local_clock::now() + timeout;
    wait_for_place(of_call, of_call.deadline, true);
    {
        thread_guard guard{mutex_};
        const auto wake = std::min(next_attempt_, of_call.deadline);
        wait_until(guard, recovered_, stop, wake, [&]() LEASEHOLD_REQUIRES(mutex_) {
            return failures_in_a_row_ == 0;
        });
    }
    require_wanted(stop);
    const auto time = std::clamp(timeout, milliseconds{100}, settings_.connect_timeout);
    const auto began = local_clock::now();
    try {
        return attempt(time, stop);
    } catch (const error& failure) {
        const bool was_refused = local_clock::now() - began < time / 2;
        if (!is_vital || !was_refused || !failure.is_transient()) throw;
        if (auto reserved = take_reserved()) return reserved;
        throw;
    }
}

// A server that admits no new connection may still answer on an open one.
std::unique_ptr<connection> pool::take_reserved() {
    for (;;) {
        std::unique_ptr<connection> found;
        {
            const thread_guard guard{mutex_};
            is_vital_refused_ = idle_.empty();
            if (idle_.empty()) return nullptr;
            found = std::move(idle_.back().held);
            idle_.pop_back();
        }
        if (found->state() == connection_state::idle && found->answers()) return found;
        note_broken();
    }
}

// After a failure one attempt at a time informs all that wait. A caller without time left tries
// alone.
bool pool::wait_for_turn(local_clock::time_point deadline, const std::stop_token& stop) {
    thread_guard guard{mutex_};
    const auto is_well = [&]() LEASEHOLD_REQUIRES(mutex_) { return failures_in_a_row_ == 0; };
    while (!is_well() && local_clock::now() < deadline && !stop.stop_requested()) {
        if (!is_probing_ && local_clock::now() >= next_attempt_) return is_probing_ = true;
        const auto wake = is_probing_ ? deadline : std::min(next_attempt_, deadline);
        wait_until(guard, recovered_, stop, wake, [&]() LEASEHOLD_REQUIRES(mutex_) {
            return is_well() || (!is_probing_ && local_clock::now() >= next_attempt_);
        });
    }
    return false;
}

pool::turn::~turn() {
    if (!is_only_) return;
    {
        const thread_guard guard{of_.mutex_};
        of_.is_probing_ = false;
    }
    of_.recovered_.notify_all();
}

void pool::note_silence() noexcept {
    auto expected = server_word::answer;
    last_word_.compare_exchange_strong(expected, server_word::silence);
    forget_idle();
}

void pool::note_ignored(local_clock::time_point began) noexcept {
    if (answered_at_.load() < began) last_word_ = server_word::ignored;
    forget_idle();
}

void pool::forget_idle() noexcept {
    std::vector<idle_connection> gone;
    const thread_guard guard{mutex_};
    has_lost_one_ = true;
    gone.swap(idle_);
}

void pool::note_broken() noexcept {
    const thread_guard guard{mutex_};
    has_lost_one_ = true;
}

void pool::note_answer() noexcept {
    answered_at_ = local_clock::now();
    last_word_ = server_word::answer;
}

void pool::note_failure(local_clock::time_point began, milliseconds timeout) {
    if (began > std::max(answered_at_.load(), connected_at_.load())) {  // or somebody knows better
        const bool was_waited_for = local_clock::now() - began >= timeout / 2;
        const auto now = was_waited_for ? server_word::mute : server_word::refusal;
        for (auto before = last_word_.load(); before != server_word::ignored;) {
            if (last_word_.compare_exchange_weak(before, now)) break;
        }
    }
    const thread_guard guard{mutex_};
    ++failures_in_a_row_;
    const auto pause = backed_off(failures_in_a_row_, milliseconds{50}, milliseconds{2000});
    next_attempt_ = local_clock::now() + pause;
}

void pool::note_success() {
    connected_at_ = local_clock::now();
    for (auto before : {server_word::refusal, server_word::mute}) {
        last_word_.compare_exchange_strong(before, server_word::silence);
    }
    bool had_failed = false, is_recovery = false;
    {
        const thread_guard guard{mutex_};
        had_failed = std::exchange(failures_in_a_row_, 0) > 0;
        is_vital_refused_ = false;
        const bool had_lost = std::exchange(has_lost_one_, false);
        is_recovery = (had_failed || had_lost) && connected_once_;
        connected_once_ = true;
    }
    if (had_failed) recovered_.notify_all();
    if (is_recovery && settings_.observer) {
        settings_.observer->on_event(
            {event_kind::reconnected, "", 0, "a lost connection was replaced"}
        );
    }
}

void pool::fill_anew() noexcept {
    std::vector<idle_connection> gone;
    const thread_guard guard{mutex_};
    ++filling_;
    gone.swap(idle_);
}

void pool::give_back(std::unique_ptr<connection> lent, int filling) noexcept {
    if (!home_.is_here()) {
        // The server would take this connection's farewell for the parent's.
        static_cast<void>(lent.release());
        return;
    }
    const bool is_well = lent && lent->state() == connection_state::idle;
    if (is_well) note_answer();
    {
        const bool keeps_place = !is_well && keep_place_of(lent.get());
        const thread_guard guard{mutex_};
        if (lent && !is_well) has_lost_one_ = true;
        if (keeps_place) return;
        const bool is_fit = is_well && filling == filling_;
        const bool is_beyond_bound = lent_-- > settings_.max_connections;
        if (is_fit && !is_beyond_bound) idle_.push_back({std::move(lent), local_clock::now()});
    }
    // One place wakes one waiting caller. It is not lost if that caller gives up: it looks once
    // more, and takes the place then.
    given_back_.notify_one();
}

}  // namespace leasehold
