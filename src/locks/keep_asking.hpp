#pragma once
// Waits for an act of another process: asks again at jittered, growing intervals, and holds nothing
// in between.
#include <algorithm>
#include <chrono>
#include <optional>
#include <stop_token>
#include <utility>

#include "core/jitter.hpp"
#include "leasehold/clock.hpp"
#include "leasehold/error.hpp"

namespace leasehold {

// The instant `timeout` from now, at most the end of time.
local_clock::time_point deadline_in(std::chrono::nanoseconds timeout);

// The limit of a call's wait: until when, and unless it is cancelled before.
struct wait_limit {
    wait_limit(std::stop_token stop) : cancel(std::move(stop)) {}
    wait_limit(local_clock::time_point end, std::stop_token stop)
        : deadline(end), cancel(std::move(stop)) {}
    wait_limit(std::chrono::nanoseconds timeout, std::stop_token stop)
        : wait_limit(deadline_in(timeout), std::move(stop)) {}

    bool is_late() const noexcept { return local_clock::now() >= deadline; }
    bool is_over() const noexcept { return is_late() || cancel.stop_requested(); }
    // A cancelled call ends as cancelled, also if its time ended at the same moment.
    bool survives(const error& failure) const noexcept {
        return failure.is_transient() && (!is_late() || cancel.stop_requested());
    }

    local_clock::time_point deadline = local_clock::time_point::max();
    std::stop_token cancel;
    local_clock::time_point began = local_clock::now();
};

// Throws invalid_argument unless min_poll is 1 ms to max_poll and max_poll at most 1 h.
polling checked_polls(std::chrono::milliseconds min_poll, std::chrono::milliseconds max_poll);

// Sleeps until `wake`, or until one of the two asks to stop.
void rest(local_clock::time_point wake, std::stop_token cancel, std::stop_token lost = {});

// Sends a request that is harmless to send again, until it is answered: after a failure that may
// pass, if `may_go_on`, which is called with each failure, allows it.
template <class Send, class MayGoOn>
auto repeat(Send&& send, MayGoOn&& may_go_on) {
    constexpr int max_attempts = 3;
    for (int attempt = 1;; ++attempt) {
        try {
            return send(attempt);
        } catch (const error& failure) {
            const bool is_last = !failure.is_transient() || attempt == max_attempts;
            if (!may_go_on(failure) || is_last) throw;
        }
    }
}

// Calls `ask` until its answer converts to true or the limit is reached, and asks no more once it
// is cancelled: the answer is the last one then, and `nothing` before there was one. When `lost`
// stops it asks at once. A transient failure ends no wait, unless time is up. `meanwhile` is given
// each refusal, and may have a better answer.
template <class Answer, class Ask, class Meanwhile>
Answer keep_asking(
    const wait_limit& limit,
    const polling& polls,
    const std::stop_token& lost,
    Answer nothing,
    Ask&& ask,
    Meanwhile&& meanwhile
) {
    Answer last = std::move(nothing);
    for (int refusals = 1; !limit.cancel.stop_requested(); ++refusals) {
        try {
            Answer answer = ask();
            if (answer || limit.is_over()) return answer;
            last = std::move(answer);
            if (std::optional<Answer> better = meanwhile(last)) return *std::move(better);
        } catch (const error& failure) {
            if (!limit.survives(failure)) throw;
        }
        const auto pause = backed_off(refusals, polls.least, polls.most);
        rest(std::min(limit.deadline, local_clock::now() + pause), limit.cancel, lost);
    }
    return last;
}

template <class Answer, class Ask>
Answer keep_asking(
    const wait_limit& limit,
    const polling& polls,
    const std::stop_token& lost,
    Answer nothing,
    Ask&& ask
) {
    return keep_asking(limit, polls, lost, std::move(nothing), ask, [](const Answer&) {
        return std::optional<Answer>{};
    });
}

}  // namespace leasehold
