// The watch thread of a session: compares the clock with every deadline, and tells the
// holders that lost.
#include <algorithm>
#include <string>

#include "core/timed_wait.hpp"
#include "session/session.hpp"

namespace leasehold {

// Compares the clock with every deadline, and tells the holders that lost.
void session::implementation::tell_losses() {
    std::vector<lost_grant> lost;
    bool session_is_lost = false;
    bool tells_of_limits = false;
    loss_reason why = loss_reason::none;
    {
        const thread_guard guard{mutex_};
        const auto now = local_clock::now();
        machine_->tick(now);
        why = machine_->reason();
        lost = grants_.take_lost(now, why);
        session_is_lost =
            !machine_->is_live() && why != loss_reason::session_ended && !lost_.stop_requested();
        if (lost.empty() && !session_is_lost) return;
        const auto has_limit = [](const lost_grant& each) { return each.first->limited(); };
        tells_of_limits = !session_is_lost && std::any_of(lost.begin(), lost.end(), has_limit);
        ++tellers_;
        if (tells_of_limits) ++tellers_of_limits_;
    }
    tell(lost, session_is_lost, why);
    {
        const thread_guard guard{mutex_};
        --tellers_;
        if (tells_of_limits) {
            --tellers_of_limits_;
            give_back_when_over(lost);
        }
    }
    wake_all();
}

// They are in doubt from when their holders have been told, and had the time to stop.
void session::implementation::give_back_when_over(const std::vector<lost_grant>& lost) {
    for (const auto& [each, reason] : lost) {
        const auto limit = each->limited();
        if (!limit) continue;
        const hold& what = each->what();
        in_doubt_.add({what.key, what.owner, limit->over, what.kind, {}, limit->over});
        machine_->hurry(limit->over);
    }
}

void session::implementation::tell(
    const std::vector<lost_grant>& lost, bool session_is_lost, loss_reason why
) {
    if (session_is_lost) over_.request_stop();
    if (session_is_lost && lost_.request_stop()) {
        const std::string said = std::string("session lost: ") + name_of(why);
        database().tell({event_kind::lost, "", 0, said, reason_of(why)});
    }
    for (const auto& [each, reason] : lost) {
        if (each->lose(reason)) database().tell(loss_of(*each, reason));
    }
}

session::implementation::nap session::implementation::watch_step() {
    nap next{local_clock::time_point::max(), 0};
    {
        const thread_guard guard{mutex_};
        next.changes = changes_;  // before looking: a later change is looked at again
    }
    tell_losses();
    const thread_guard guard{mutex_};
    if (machine_->is_live()) next.until = machine_->deadline();
    if (const auto end = grants_.next_end()) next.until = std::min(next.until, *end);
    return next;
}

// Each step holds a reference to the session: if a callback gives up the last other one, the
// session is destroyed only when the step is done.
void session::implementation::keep_watch(std::stop_token stop) {
    while (!stop.stop_requested()) {
        nap next{};
        {
            const auto alive = weak_from_this().lock();
            if (!alive || is_over()) return;
            next = watch_step();
        }
        if (!stop.stop_requested()) sleep(next, stop);
    }
}

bool session::implementation::is_over() const {
    const thread_guard guard{mutex_};
    return has_nothing_left();
}

// A fixed term outlives its session, and is watched until the last lease of it is released.
bool session::implementation::has_nothing_left() const {
    return has_ended_ && grants_.is_empty() && under_way_ == 0;
}

void session::implementation::sleep(const nap& pause, std::stop_token stop) {
    // If the machine wakes from sleep within a nap, holders are told only when the nap ends: it
    // must end before the margin is over.
    constexpr std::chrono::milliseconds nap_min{10}, nap_of_ends{200};
    auto longest = std::clamp<local_clock::duration>(*settings().margin / 2, nap_min, max_nap);
    thread_guard guard{mutex_};
    if (grants_.next_end()) longest = std::min<local_clock::duration>(longest, nap_of_ends);
    const auto until = std::min(pause.until, local_clock::now() + longest);
    wait_until(guard, changed_, stop, until, [&]() LEASEHOLD_REQUIRES(mutex_) {
        return changes_ != pause.changes;
    });
}

}  // namespace leasehold
