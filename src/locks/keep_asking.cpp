#include "locks/keep_asking.hpp"

#include <condition_variable>

#include "core/thread_mutex.hpp"
#include "core/timed_wait.hpp"

namespace leasehold {

polling checked_polls(std::chrono::milliseconds poll_min, std::chrono::milliseconds poll_max) {
    constexpr std::chrono::milliseconds least{1};
    if (poll_min >= least && poll_max >= poll_min && poll_max <= std::chrono::hours{1}) {
        return {poll_min, poll_max};
    }
    throw error(
        errc::invalid_argument, "poll_min must be 1 ms to poll_max, and poll_max at most 1 h"
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

local_clock::time_point deadline_in(std::chrono::nanoseconds patience) {
    const auto now = local_clock::now();
    return now + std::min<std::chrono::nanoseconds>(patience, local_clock::time_point::max() - now);
}

}  // namespace leasehold
