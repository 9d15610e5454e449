#pragma once
// Waiting for something another process does: asking again at jittered, growing intervals, and
// holding nothing in between.
#include <algorithm>
#include <chrono>
#include <stop_token>
#include <utility>

#include "core/jitter.hpp"
#include "leasehold/clock.hpp"
#include "leasehold/error.hpp"

namespace leasehold {

// Throws invalid_argument unless poll_min is 1 ms to poll_max and poll_max at most 1 h.
void require_valid_polls(std::chrono::milliseconds poll_min, std::chrono::milliseconds poll_max);

// Sleeps until `wake`, or until one of the two asks to stop.
void rest(local_clock::time_point wake, std::stop_token cancel, std::stop_token lost = {});

// The instant so long from now, without running over the end of time.
local_clock::time_point deadline_in(std::chrono::nanoseconds patience);

// When to ask again, and until when.
struct asking {
    local_clock::time_point deadline;
    std::chrono::milliseconds poll_min;
    std::chrono::milliseconds poll_max;
};

// Calls `ask` until its answer converts to true, time is up or `cancel` stops, which asks no more:
// the answer is the last one then, and `nothing` before there was one. When `lost` stops it asks at
// once. What is transient ends no wait, unless time is up.
template <class Answer, class Ask>
Answer keep_asking(
    const asking& how,
    const std::stop_token& cancel,
    const std::stop_token& lost,
    Answer nothing,
    Ask&& ask
) {
    Answer last = std::move(nothing);
    for (int refusals = 1; !cancel.stop_requested(); ++refusals) {
        const auto is_late = [&] { return local_clock::now() >= how.deadline; };
        try {
            Answer answer = ask();
            if (answer || is_late()) return answer;
            last = std::move(answer);
        } catch (const error& failure) {
            if (!failure.is_transient() || is_late()) throw;
        }
        const auto pause = backed_off(refusals, how.poll_min, how.poll_max);
        rest(std::min(how.deadline, local_clock::now() + pause), cancel, lost);
    }
    return last;
}

}  // namespace leasehold
