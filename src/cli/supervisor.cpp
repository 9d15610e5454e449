#include "cli/supervisor.hpp"

#include <algorithm>

namespace leasehold::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

// What is left of a process group is looked for so often, for the moments it may take to tidy up.
constexpr milliseconds look_every{10};

}  // namespace

supervisor::supervisor(
    const lease& held, const session_settings& timing, child& running, signal_inbox& signals
)
    : held_(held),
      timing_(timing),
      running_(running),
      signals_(signals),
      guard_(running.group(), held.deadline(), timing.margin) {}

std::optional<int> supervisor::run() {
    const std::stop_callback on_loss{held_.lost(), [this] { loss_.ring(); }};
    const std::stop_callback on_request{held_.revoke_requested(), [this] { loss_.ring(); }};
    if (!held_.held_locally()) return std::nullopt;  // what has not begun need not be stopped
    running_.begin();
    while (true) {
        pass_signals_on();
        running_.check_begun();
        if (running_.has_ended()) break;
        heed_loss();
        heed_request();
        guard_.renew(held_.deadline());
        wait_for({signals_.source(), loss_.source(), running_.begun_source()}, pause());
        loss_.hush();
    }
    const bool was_stopped = guard_.has_told();
    guard_.retire();  // while the command's number cannot be given to anybody else
    const int status = running_.reap();
    if (!was_stopped) return status;
    end_rest_of_group();
    return std::nullopt;
}

void supervisor::pass_signals_on() {
    while (const auto next = signals_.take()) {
        if (*next == SIGCHLD) {
            running_.follow();
        } else {
            if (*next != SIGUSR1 && *next != SIGUSR2) asked_by_ = *next;
            running_.signal_group(*next);
        }
    }
}

// What the command does about it, and how long that takes, is its own affair: the lease goes on.
void supervisor::heed_request() {
    if (was_revoked_ || kill_at_ || !held_.revoke_requested().stop_requested()) return;
    was_revoked_ = true;
    running_.signal_group(SIGTERM);
}

void supervisor::heed_loss() {
    if (held_.held_locally()) return;
    const auto now = local_clock::now();
    if (!kill_at_) {
        // Freed by force, it is too late for any deadline, and the time is counted from now.
        const auto lost_at = std::min(now, held_.deadline());
        kill_at_ = guard::kill_time(lost_at, timing_.margin);
        if (guard_.may_tell() && now < *kill_at_) running_.signal_group(SIGTERM);
    }
    if (now >= *kill_at_ && !std::exchange(is_killed_, true)) running_.signal_group(SIGKILL);
}

// How long nothing needs to be looked at. The guard is to know each new deadline well before the
// old one: the nearer that is, the more often it is asked for.
nanoseconds supervisor::pause() const {
    if (is_killed_) return timing_.ttl;
    const auto now = local_clock::now();
    if (kill_at_) return std::max<nanoseconds>(*kill_at_ - now, nanoseconds{0});
    const nanoseconds left = held_.deadline() - now;
    return std::clamp<nanoseconds>(left / 4, look_every, timing_.heartbeat_every / 2);
}

// What the command started may still be tidying up, in the time there is.
void supervisor::end_rest_of_group() {
    const auto kill_at = kill_at_ ? *kill_at_ : guard::kill_time(held_.deadline(), timing_.margin);
    while (running_.group_lives()) {
        const auto left = kill_at - local_clock::now();
        if (left <= nanoseconds{0}) {
            running_.signal_group(SIGKILL);
            return;
        }
        wait_for({signals_.source()}, std::min<nanoseconds>(left, look_every));
        pass_signals_on();
    }
}

}  // namespace leasehold::cli
