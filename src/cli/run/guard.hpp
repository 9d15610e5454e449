#pragma once
// A second process, between the tool and the command, that stops the command when the tool cannot:
// because the tool was killed, or is itself stopped (SIGSTOP) or starved past the lease's deadline,
// while the command runs on.
//
// The guard is the command's parent and a subreaper: all processes that the command starts, in a
// session of their own or not, are below it until they end, also when the tool is gone. It reaps
// the orphans among them. It shares nothing with the tool but one page of memory, with the deadline
// in it, and a socket, whose end means that the tool is gone. It talks to no database.
//
// | the tool …                        | the guard …                                               |
// |-----------------------------------|-----------------------------------------------------------|
// | ends, or is killed                | kills all that came of the command, and ends              |
// | renews no more: a quarter margin  | SIGTERM to all, unless the tool has told them             |
// | after the deadline; then half     | kills all; again and again until there is nobody          |
// | says await_all()                  | says when the last of them has ended                      |
// | says dismiss()                    | ends, and leaves alone the processes that live on         |
//
// A guard that is killed hands all that to the tool, which is a subreaper as long as it has a
// guard: the kernel kills the command, and the tool the rest. Not so where the tool had children
// before it had a guard (`exec leasehold lock …` in a script), or has several guards: those are not
// the command's, and the tool could not tell them from its processes.
//
// Threads: each guard is used by one only. Several are made one at a time, each until its command
// has begun: a process in between has copies of all sockets that the tool has, and two of those
// would keep each other's guards from seeing the tool's end.
#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>

#include "cli/run/descendants.hpp"
#include "cli/run/events.hpp"
#include "cli/run/launch.hpp"
#include "leasehold/clock.hpp"

namespace leasehold::cli {

class guard {
public:
    enum class event : int {
        begun,      // `number`: the command's
        not_begun,  // `number`: why, of errno
        stopped,    // the command was, by the signal `number`
        ended,      // the command has; `number`: its status as a shell would say it
        all_ended,  // the command and its descendants have ended
        gone,       // the guard was killed itself, and with it the command
    };
    struct news {
        event what;
        int number;
    };

    // Says whether the tool has other guards beside this one.
    enum class siblings { none, others };

    // Returns when the guard runs, and the process is there that will become the command. `margin`
    // is the time from a deadline until the database can first give the key to somebody else.
    guard(
        launch& what,
        const terminal& lender,
        local_clock::time_point deadline,
        std::chrono::nanoseconds margin,
        siblings beside = siblings::none
    );
    // The guard kills all unless it was dismissed: nothing goes on without its lease.
    ~guard();
    guard(const guard&) = delete;
    guard& operator=(const guard&) = delete;

    // The command's process, and its group. The number stays taken until await_all() or dismiss().
    pid_t command() const noexcept { return command_; }
    // Sends a signal to the command and its descendants, except the group `spared`; 0: to all.
    descendants::count signal_all(pid_t spared, int number) noexcept;

    int source() const noexcept { return lifeline_.number(); }
    std::optional<news> take() noexcept;

    // The lease lives at least until then. May be earlier than before, for a command that has
    // another lease than before.
    void renew(local_clock::time_point deadline) noexcept;

    // Claims the telling of the command to stop: true for the first caller, the tool or the guard.
    bool may_tell() noexcept { return !board_->is_told.exchange(true); }
    bool has_told() const noexcept { return board_->is_told; }

    void await_all() noexcept;
    void dismiss() noexcept;
    // The guard is gone: kills the processes it has left, as far as the tool has become their
    // parent.
    void kill_rest() noexcept;

    // Splits the rest of the margin, from a deadline on, into time to tidy up and time for the
    // kernel to end the processes that were killed.
    static local_clock::time_point kill_time(
        local_clock::time_point deadline, std::chrono::nanoseconds margin
    ) {
        return deadline + margin / 2;
    }

private:
    struct board {
        std::atomic<std::int64_t> deadline;  // by local_clock, in nanoseconds
        std::atomic<bool> is_told;
    };
    static_assert(std::atomic<std::int64_t>::is_always_lock_free);
    static_assert(std::atomic<bool>::is_always_lock_free);
    class keeper;

    enum class ended { by_itself, killed };
    ended leave() noexcept;
    void adopt() noexcept;
    void stop_adopting() noexcept;

    descendants family_;
    board* board_ = nullptr;
    descriptor lifeline_;
    pid_t pid_ = -1;
    pid_t command_ = -1;
    bool adopts_ = false;
};

}  // namespace leasehold::cli
