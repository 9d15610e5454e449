#pragma once
// Waiting for something that happens elsewhere: asked again and again until a deadline, which is
// only ever reached by a failure.
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stop_token>

namespace leasehold::testing {

template <class Condition>
bool eventually(Condition&& holds, std::chrono::milliseconds patience = std::chrono::seconds{20}) {
    const auto deadline = std::chrono::steady_clock::now() + patience;
    std::mutex mutex;
    std::condition_variable nothing;
    std::unique_lock guard{mutex};
    while (!holds()) {
        if (std::chrono::steady_clock::now() >= deadline) return holds();
        nothing.wait_for(guard, std::chrono::milliseconds{2});
    }
    return true;
}

// Waits for a stop token; false when `patience` ran out first.
inline bool stopped(std::stop_token token, std::chrono::milliseconds patience) {
    std::mutex mutex;
    std::condition_variable_any changed;
    std::unique_lock guard{mutex};
    changed.wait_for(guard, token, patience, [&] { return token.stop_requested(); });
    return token.stop_requested();
}

}  // namespace leasehold::testing
