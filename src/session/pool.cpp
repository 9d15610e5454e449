#include "session/pool.hpp"

#include <algorithm>
#include <utility>

#include "core/jitter.hpp"
#include "leasehold/error.hpp"

namespace leasehold {
namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;

milliseconds left_until(local_clock::time_point deadline) {
    return duration_cast<milliseconds>(deadline - local_clock::now());
}

}  // namespace

pool::pool(
    connector connect, const database_settings& settings, std::chrono::nanoseconds nap_trusted
)
    : connect_(std::move(connect)), settings_(settings), nap_trusted_(nap_trusted) {}

std::unique_ptr<connection> pool::take() {
    const auto deadline = local_clock::now() + settings_.acquire_timeout;
    {
        std::unique_lock guard{mutex_};
        const bool free = changed_.wait_for(guard, settings_.acquire_timeout, [&] {
            return lent_ < settings_.connections_max;
        });
        if (!free) {
            throw error(
                errc::timed_out,
                "all " + std::to_string(settings_.connections_max) + " connections were busy for " +
                    std::to_string(settings_.acquire_timeout.count()) +
                    " ms; raise connections_max or hold transactions for less time"
            );
        }
        ++lent_;
    }
    return take_counted(deadline);
}

std::unique_ptr<connection> pool::take_beside() {
    {
        const std::lock_guard guard{mutex_};
        ++lent_;
    }
    return take_counted(local_clock::now() + settings_.acquire_timeout);
}

std::unique_ptr<connection> pool::take_counted(local_clock::time_point deadline) {
    try {
        while (auto idle = take_idle(deadline)) {
            if (idle->state() == connection_state::idle) return idle;
            note_broken();
        }
        return connect_within(deadline);
    } catch (...) {
        give_back(nullptr);
        throw;
    }
}

// A connection to lend, checked if it slept; nothing when a new one must be opened. What a check
// that failed has cost is not taken from the time to open that one: where packets vanish a check
// takes the whole statement time-out, while the server may be well.
std::unique_ptr<connection> pool::take_idle(local_clock::time_point& deadline) {
    while (true) {
        idle_connection found;
        {
            const std::lock_guard guard{mutex_};
            if (idle_.empty()) return nullptr;
            found = std::move(idle_.back());
            idle_.pop_back();
        }
        const bool is_fresh = local_clock::now() - found.since < nap_trusted_;
        if (is_fresh || found.held->answers()) return std::move(found.held);
        note_broken();
        deadline = std::max(deadline, local_clock::now() + settings_.connect_timeout);
        // All others have slept for longer. Asking each of them, which may take the whole statement
        // time-out each time where packets vanish, would be in vain.
        std::vector<idle_connection> gone;
        const std::lock_guard guard{mutex_};
        gone.swap(idle_);
        return nullptr;
    }
}

std::unique_ptr<connection> pool::connect_within(local_clock::time_point deadline) {
    while (true) {
        wait_for_back_off(deadline);
        const auto patience =
            std::clamp(left_until(deadline), milliseconds{100}, settings_.connect_timeout);
        try {
            auto made = connect_(patience);
            made->set_statement_timeout(settings_.statement_timeout);
            note_success();
            return made;
        } catch (const error& failure) {
            note_failure();
            const std::lock_guard guard{mutex_};
            if (!failure.is_transient() || !connected_once_ || next_attempt_ >= deadline) throw;
        }
    }
}

std::unique_ptr<connection> pool::connect_apart(milliseconds patience) {
    wait_for_back_off(local_clock::now() + patience);
    try {
        auto made = connect_(std::clamp(patience, milliseconds{100}, settings_.connect_timeout));
        note_success();
        return made;
    } catch (const error&) {
        note_failure();
        throw;
    }
}

void pool::wait_for_back_off(local_clock::time_point deadline) {
    std::unique_lock guard{mutex_};
    const auto wake = std::min(next_attempt_, deadline);
    while (local_clock::now() < wake && failures_in_a_row_ > 0) {
        changed_.wait_for(guard, wake - local_clock::now());
    }
}

void pool::note_broken() noexcept {
    const std::lock_guard guard{mutex_};
    has_lost_one_ = true;
}

void pool::note_failure() {
    const std::lock_guard guard{mutex_};
    ++failures_in_a_row_;
    const auto pause = backed_off(failures_in_a_row_, milliseconds{50}, milliseconds{2000});
    next_attempt_ = local_clock::now() + pause;
}

void pool::note_success() {
    const std::lock_guard guard{mutex_};
    const bool had_failed = std::exchange(failures_in_a_row_, 0) > 0;
    const bool had_lost = std::exchange(has_lost_one_, false);
    const bool is_recovery = (had_failed || had_lost) && connected_once_;
    connected_once_ = true;
    if (is_recovery) changed_.notify_all();
    if (is_recovery && settings_.observer) {
        settings_.observer->on_event(
            {event_kind::reconnected, "", 0, "a lost connection was replaced"}
        );
    }
}

void pool::give_back(std::unique_ptr<connection> lent) noexcept {
    const bool is_fit = lent && lent->state() == connection_state::idle;
    {
        const std::lock_guard guard{mutex_};
        if (lent && !is_fit) has_lost_one_ = true;
        const bool is_beyond_bound = lent_-- > settings_.connections_max;
        if (is_fit && !is_beyond_bound) idle_.push_back({std::move(lent), local_clock::now()});
    }
    changed_.notify_all();  // one may be waiting for something else, and would keep it to itself
}

}  // namespace leasehold
