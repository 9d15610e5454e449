#pragma once
// The processes that came of one process, whatever group and session they have gone to since.
//
// The system keeps no such list, but who is whose parent stands in /proc; and one that is a
// subreaper (PR_SET_CHILD_SUBREAPER) becomes the parent of all whose own has ended. So whoever
// can be reached from it now are all there are, but for those that were born while we looked:
// look again until there is nobody.
//
// Threads: one at a time. Async-signal-safe, but for construction and destruction.
#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace leasehold::cli {

class descendants {
public:
    // Of how many it could be said that they live. `reached`: took the signal; the others belong to
    // another user, as after sudo.
    struct count {
        int living = 0;
        int reached = 0;
    };

    descendants();
    ~descendants();
    descendants(const descendants&) = delete;
    descendants& operator=(const descendants&) = delete;

    // Sends the signal to all descendants of `root`, but not to those in the group `spared` (0:
    // none) nor to `root` itself. Nobody else can be hit: a number that was given away again
    // meanwhile is recognised. `number` 0 asks who lives.
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
