#include "cli/run/supervisor.hpp"

#include <algorithm>

namespace leasehold::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

// The supervisor looks at the lease's deadline no more often than this.
constexpr milliseconds look_every{10};

}  // namespace

supervisor::supervisor(
    const lease& held,
    const session_settings& timing,
    child& running,
    signal_inbox& signals,
    bool waits_for_all
)
    : held_(held),
      timing_(timing),
      running_(running),
      signals_(signals),
      waits_for_all_(waits_for_all) {}

std::optional<int> supervisor::run() {
    const std::stop_callback on_loss{held_.lost(), [this] { loss_.set(); }};
    const std::stop_callback on_request{held_.revoke_requested(), [this] { loss_.set(); }};
    if (!held_.held_locally()) return std::nullopt;  // nothing has begun that could be stopped
    running_.begin();
    while (true) {
        pass_signals_on();
        running_.follow();
        running_.check_begun();
        if (is_over()) break;
        heed_loss();
        heed_request();
        running_.watcher().renew(held_.deadline());
        wait_for(
            {signals_.source(), loss_.source(), running_.begun_source(), running_.source()}, pause()
        );
        loss_.take();
    }
    const bool was_stopped = running_.watcher().has_told();
    if (was_stopped) end_rest();
    running_.dismiss();
    return was_stopped ? std::nullopt : running_.status();
}

// Processes that were told to stop have until the kill time, not until the end of the lease.
bool supervisor::is_over() {
    if (!running_.status()) return false;
    if (!waits_for_all_ || running_.watcher().has_told()) return true;
    running_.await_all();
    return running_.have_all_ended();
}

void supervisor::pass_signals_on() {
    while (const auto next = signals_.take()) {
        if (*next == SIGCHLD) continue;
        if (*next != SIGUSR1 && *next != SIGUSR2) asked_by_ = *next;
        running_.signal_group(*next);
    }
}

// The command decides how it reacts, and how long it takes; the lease goes on meanwhile.
void supervisor::heed_request() {
    if (was_revoked_ || kill_at_ || !held_.revoke_requested().stop_requested()) return;
    was_revoked_ = true;
    running_.signal_group(SIGTERM);
}

void supervisor::heed_loss() {
    if (held_.held_locally()) return;
    const auto now = local_clock::now();
    if (!kill_at_) {
        // If the lease was freed by force, its deadline is still ahead, and the time counts from
        // now.
        const auto lost_at = std::min(now, held_.deadline());
        kill_at_ = guard::kill_time(lost_at, *timing_.margin);
        if (running_.watcher().may_tell() && now < *kill_at_) running_.signal_all(SIGTERM);
    }
    if (now >= *kill_at_ && !std::exchange(is_killed_, true)) running_.signal_all(SIGKILL);
}

// The supervisor may sleep for this time. The guard has to know each new deadline well before the
// old one, so the pauses get shorter as the old one comes nearer.
nanoseconds supervisor::pause() const {
    if (is_killed_) return timing_.ttl;
    const auto now = local_clock::now();
    if (kill_at_) return std::max<nanoseconds>(*kill_at_ - now, nanoseconds{0});
    const nanoseconds left = held_.deadline() - now;
    return std::clamp<nanoseconds>(left / 4, look_every, *timing_.heartbeat_every / 2);
}

// Processes that the command started may clean up until the kill time. Then they are killed
// repeatedly, since they may start children during the search. A process that survives belongs to
// another user, or is in a call that nothing interrupts.
void supervisor::end_rest() {
    constexpr std::chrono::seconds max_insist{2};
    const auto kill_at = kill_at_ ? *kill_at_ : guard::kill_time(held_.deadline(), *timing_.margin);
    running_.await_all();
    while (!running_.have_all_ended()) {
        const auto left = kill_at - local_clock::now();
        if (left <= nanoseconds{0}) {
            if (left <= -max_insist || running_.signal_all(SIGKILL).reached == 0) return;
        }
        const nanoseconds timeout = left > nanoseconds{0} ? nanoseconds{left} : look_every;
        wait_for({running_.source(), signals_.source()}, timeout);
        pass_signals_on();
        running_.follow();
    }
}

}  // namespace leasehold::cli
