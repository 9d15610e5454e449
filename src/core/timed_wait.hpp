#pragma once
// All waits of the library that have an end by local_clock. A condition variable does not count the
// time a machine sleeps; these waits do, within one nap of its waking up.
//
// Threads: safe.
#include <condition_variable>
#include <functional>
#include <mutex>
#include <stop_token>

#include "core/thread_mutex.hpp"
#include "leasehold/clock.hpp"
#include "leasehold/export.hpp"

namespace leasehold {

// Waits until `holds`, which is asked with the lock held, until a request to stop, or until the
// deadline; time_point::max() means no deadline. Returns what `holds` says in the end. The code
// that makes it true notifies `changed`.
LEASEHOLD_EXPORT bool wait_until(
    std::unique_lock<std::mutex>& guard,
    std::condition_variable_any& changed,
    const std::stop_token& stop,
    local_clock::time_point deadline,
    const std::function<bool()>& holds
);

inline bool wait_until(
    thread_guard<std::mutex>& guard,
    std::condition_variable_any& changed,
    const std::stop_token& stop,
    local_clock::time_point deadline,
    const std::function<bool()>& holds
) {
    return wait_until(guard.native(), changed, stop, deadline, holds);
}

// Sleeps for `length`.
void pause_for(std::chrono::nanoseconds length);

}  // namespace leasehold
