#include "locks/keep_asking.hpp"

#include <condition_variable>

#include "core/thread_mutex.hpp"
#include "core/timed_wait.hpp"
#include "core/wait_by.hpp"
#include "leasehold/stop.hpp"

namespace leasehold {

polling checked_polls(std::chrono::milliseconds min_poll, std::chrono::milliseconds max_poll) {
    constexpr std::chrono::milliseconds least{1};
    if (min_poll >= least && max_poll >= min_poll && max_poll <= std::chrono::hours{1}) {
        return {min_poll, max_poll};
    }
    throw error(
        errc::invalid_argument, "min_poll must be 1 ms to max_poll, and max_poll at most 1 h"
    );
}

void rest(local_clock::time_point wake, std::stop_token cancel, std::stop_token lost) {
    thread_mutex mutex;
    std::condition_variable_any changed;
    const std::stop_callback on_loss{lost, [&] {
                                         const thread_guard guard{mutex};
                                         changed.notify_all();
                                     }};
    thread_guard guard{mutex};
    wait_until(guard, changed, cancel, wake, [&] { return lost.stop_requested(); });
}

bool wait_until_requested(
    const std::stop_token& lost, wait_deadline deadline, const std::stop_token& cancel
) {
    return wait_by(deadline, cancel, [&](local_clock::time_point by) {
        rest(by, cancel, lost);
        return lost.stop_requested();
    });
}

local_clock::time_point deadline_in(std::chrono::nanoseconds timeout) {
    const auto now = local_clock::now();
    return now + std::min<std::chrono::nanoseconds>(timeout, local_clock::time_point::max() - now);
}

}  // namespace leasehold
