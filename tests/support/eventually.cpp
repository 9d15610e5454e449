#include "support/eventually.hpp"

#include <condition_variable>
#include <mutex>

#include "core/clock_source.hpp"
#include "support/test_time.hpp"

namespace leasehold::testing {

bool ask_until(const std::function<bool()>& holds, std::chrono::milliseconds timeout) {
    std::mutex mutex;
    std::condition_variable_any nothing;
    std::unique_lock guard{mutex};
    if (clock_source* const moved = clock_source::installed()) {
        bool does_hold = false;  // asked once more it may not any longer
        const auto is_over = [&] { return does_hold = holds(); };
        moved->wait(guard, nothing, local_clock::now() + timeout, is_over);
        if (does_hold || !test_time::is_moved_here()) return does_hold;
    }
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    while (!holds()) {
        if (std::chrono::steady_clock::now() >= deadline) return holds();
        nothing.wait_for(guard, std::chrono::milliseconds{2});
    }
    return true;
}

bool stopped(const std::stop_token& token, std::chrono::milliseconds timeout) {
    if (clock_source::installed() != nullptr) {
        return eventually([&] { return token.stop_requested(); }, timeout);
    }
    std::mutex mutex;
    std::condition_variable_any changed;
    std::unique_lock guard{mutex};
    changed.wait_for(guard, token, timeout, [&] { return token.stop_requested(); });
    return token.stop_requested();
}

}  // namespace leasehold::testing
