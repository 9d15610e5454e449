#pragma once
// The source of the time of local_clock and of the library's waits in a test that moves the time.
// Programs have no source: they use the machine's clock.
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
    // Waits until `is_over`, which is asked with the lock held, or until the deadline. The code
    // that makes it true notifies `changed`.
    virtual void wait(
        std::unique_lock<std::mutex>& guard,
        std::condition_variable_any& changed,
        local_clock::time_point deadline,
        const std::function<bool()>& is_over
    ) = 0;

    // Null in programs; only tests install one.
    static clock_source* installed() noexcept;
    // Installs it in the whole process, until the next call. It must not be destroyed while threads
    // run.
    static void install(clock_source* source) noexcept;

protected:
    clock_source() = default;
    ~clock_source() = default;
    clock_source(const clock_source&) = delete;
    clock_source& operator=(const clock_source&) = delete;
};

}  // namespace leasehold
