#pragma once
// The descendants of a process, whatever group and session they have moved to since.
//
// The system keeps no such list, but /proc names the parent of each process; and a subreaper
// (PR_SET_CHILD_SUBREAPER) becomes the parent of all whose own has ended. So a search from it finds
// all descendants, except those that start during the search: the caller repeats the search until
// it finds none.
//
// Threads: one at a time. Async-signal-safe, except construction and destruction.
#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace leasehold::cli {

class descendants {
public:
    // The number of processes that seem to live. `reached` of them took the signal; the others
    // belong to another user, as after sudo.
    struct count {
        int living = 0;
        int reached = 0;
    };

    descendants();
    ~descendants();
    descendants(const descendants&) = delete;
    descendants& operator=(const descendants&) = delete;

    // Sends the signal to all descendants of `root`, but not to those in the group `spared` (0:
    // none) nor to `root` itself. No other process gets the signal, since the function recognises a
    // number that was used again meanwhile. `number` 0 only counts the living.
    count signal(pid_t root, pid_t spared, int number) noexcept;

private:
    struct process {
        pid_t id;
        pid_t parent;
        pid_t group;
        pid_t session;
        bool is_ours;
        bool has_ended;
        std::uint64_t started;  // in ticks since the machine began
    };

    void look(int folder) noexcept;
    void mark(pid_t root) noexcept;
    const process* find(pid_t id) const noexcept;
    static bool read_process(int folder, pid_t id, process& into) noexcept;
    static bool send(int folder, const process& to, int number) noexcept;

    process* all_;  // in the order of their numbers
    std::size_t count_ = 0;
};

}  // namespace leasehold::cli
