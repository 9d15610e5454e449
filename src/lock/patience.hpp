#pragma once
// Waiting for something another process does: asking again at jittered, growing intervals, and
// holding nothing in between.
#include <algorithm>
#include <chrono>
#include <stop_token>

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

struct patience {
    local_clock::time_point deadline;
    std::chrono::milliseconds poll_min;
    std::chrono::milliseconds poll_max;
};

// Calls `ask` until its answer converts to true, time is up or one of the tokens stops; answers
// with its last answer. What is transient ends no wait, unless it is over.
template <class Ask>
auto keep_asking(
    const patience& how, const std::stop_token& cancel, const std::stop_token& lost, Ask&& ask
) -> decltype(ask()) {
    for (int refusals = 1;; ++refusals) {
        const auto is_over = [&] {
            return local_clock::now() >= how.deadline || cancel.stop_requested();
        };
        try {
            auto answer = ask();
            if (answer || is_over()) return answer;
        } catch (const error& failure) {
            if (!failure.is_transient() || is_over()) throw;
        }
        const auto pause = backed_off(refusals, how.poll_min, how.poll_max);
        rest(std::min(how.deadline, local_clock::now() + pause), cancel, lost);
    }
}

}  // namespace leasehold
