#pragma once
// A second process that stops the command when the tool cannot: because the tool was killed, or is
// itself stopped (SIGSTOP) or starved past the lease's deadline, while the command runs on.
//
// It shares nothing with the tool but one page of memory, with the deadline in it, and a socket,
// whose end means that the tool is gone. It talks to no database, and is killed when the command
// ended.
//
// Threads: used by the main thread only.
#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstdint>

#include "cli/events.hpp"
#include "leasehold/clock.hpp"

namespace leasehold::cli {

class guard {
public:
    // Returns when it stands, in a session of its own. `margin`: how long after a deadline the
    // database could first give the key to somebody else.
    guard(pid_t group, local_clock::time_point deadline, std::chrono::nanoseconds margin);
    ~guard();
    guard(const guard&) = delete;
    guard& operator=(const guard&) = delete;

    // The lease lives at least until then.
    void renew(local_clock::time_point deadline) noexcept;

    // The command is to be told to stop: true for whoever says it first, the tool or the guard.
    bool may_tell() noexcept { return !board_->is_told.exchange(true); }
    bool has_told() const noexcept { return board_->is_told; }

    // Before the command's number is given back to the system.
    void retire() noexcept;

    // From a deadline on: what is left of the margin is split into time to tidy up and time for
    // the kernel to end what was killed.
    static local_clock::time_point kill_time(
        local_clock::time_point deadline, std::chrono::nanoseconds margin
    ) {
        return deadline + margin / 2;
    }

private:
    struct board {
        std::atomic<std::int64_t> deadline;  // of local_clock, in nanoseconds
        std::atomic<bool> is_told;
    };
    static_assert(std::atomic<std::int64_t>::is_always_lock_free);
    static_assert(std::atomic<bool>::is_always_lock_free);

    [[noreturn]] static void keep(
        board& shared, pid_t group, std::chrono::nanoseconds margin, int lifeline
    );

    board* board_ = nullptr;
    descriptor lifeline_;
    pid_t pid_ = -1;
};

}  // namespace leasehold::cli
