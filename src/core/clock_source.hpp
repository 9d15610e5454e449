#pragma once
// Where local_clock and the waits of the library get their time from in a test that moves it.
// Programs have no source: theirs is the machine's clock.
//
// Threads: safe.
#include <condition_variable>
#include <functional>
#include <mutex>

#include "leasehold/clock.hpp"

namespace leasehold {

class clock_source {
public:
    virtual local_clock::time_point now(local_clock::time_point of_machine) const noexcept = 0;
    // Waits until `is_over`, which is asked with the lock held, or until the deadline. Whoever
    // makes it true notifies `changed`.
    virtual void wait(
        std::unique_lock<std::mutex>& guard,
        std::condition_variable_any& changed,
        local_clock::time_point deadline,
        const std::function<bool()>& is_over
    ) = 0;

    // Nothing in programs.
    static clock_source* installed() noexcept;
    // In the whole process, until the next call. It must not go while there are threads.
    static void install(clock_source* source) noexcept;

protected:
    clock_source() = default;
    ~clock_source() = default;
    clock_source(const clock_source&) = delete;
    clock_source& operator=(const clock_source&) = delete;
};

}  // namespace leasehold
