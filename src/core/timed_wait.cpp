#include "core/timed_wait.hpp"

#include <algorithm>

#include "core/clock_source.hpp"

namespace leasehold {
namespace {

constexpr std::chrono::seconds max_nap{1};

}  // namespace

bool wait_until(
    std::unique_lock<std::mutex>& guard,
    std::condition_variable_any& changed,
    const std::stop_token& stop,
    local_clock::time_point deadline,
    const std::function<bool()>& holds
) {
    if (clock_source* const source = clock_source::installed()) {
        const std::stop_callback on_stop{stop, [&] { changed.notify_all(); }};
        source->wait(guard, changed, deadline, [&] { return stop.stop_requested() || holds(); });
        return holds();
    }
    if (deadline == local_clock::time_point::max()) return changed.wait(guard, stop, holds);
    while (!stop.stop_requested()) {
        const auto left = deadline - local_clock::now();
        if (left <= local_clock::duration{0}) break;
        if (changed.wait_for(guard, stop, std::min<local_clock::duration>(left, max_nap), holds)) {
            return true;
        }
    }
    return holds();
}

void pause_for(std::chrono::nanoseconds length) {
    thread_mutex mutex;
    std::condition_variable_any nothing;
    thread_guard guard{mutex};
    wait_until(guard, nothing, {}, local_clock::now() + length, [] { return false; });
}

}  // namespace leasehold
