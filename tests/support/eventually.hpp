#pragma once
// Waiting for something that happens elsewhere: asked again and again until a deadline, which is
// only ever reached by a failure. Where the test moves time (test_time.hpp) it goes on meanwhile; a
// machine that is late has the timeout once more, in real time.
#include <chrono>
#include <functional>
#include <stop_token>

namespace leasehold::testing {

bool ask_until(const std::function<bool()>& holds, std::chrono::milliseconds timeout);

template <class Condition>
bool eventually(Condition&& holds, std::chrono::milliseconds timeout = std::chrono::seconds{20}) {
    const auto asked = [&] {
        const auto answer = holds();
        return static_cast<bool>(answer);
    };
    return ask_until(asked, timeout);
}

// Waits for a stop token; false when `timeout` ran out first.
bool stopped(const std::stop_token& token, std::chrono::milliseconds timeout);

}  // namespace leasehold::testing
