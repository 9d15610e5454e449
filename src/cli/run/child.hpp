#pragma once
// The command, and all that it starts: in a process group of its own, below a guard.
//
// | the tool …                  | the command …                                                   |
// |-----------------------------|-----------------------------------------------------------------|
// | is killed                   | is killed by the guard, with all that came of it                |
// | is killed with the guard    | is killed by the kernel (PR_SET_PDEATHSIG), alone               |
// | lives, the guard is killed  | is killed by the kernel, and all that came of it by the tool    |
// | has the terminal            | gets it where it is the standard input, or when it asks for it  |
// | was given descriptors       | gets the same and none that the tool or its libraries opened    |
// | was given signals           | gets the same ignored and blocked, whatever the tool does     |
//
// Threads: made and used by the main thread only.
#include <chrono>
#include <optional>
#include <string>

#include "cli/run/guard.hpp"
#include "cli/run/launch.hpp"
#include "cli/terminal.hpp"
#include "leasehold/clock.hpp"

namespace leasehold::cli {

class child {
public:
    // Makes a process that does nothing yet, but can be stopped by its number. `deadline` and
    // `margin` are the guard's.
    child(
        const program& what,
        const inheritance& from,
        local_clock::time_point deadline,
        std::chrono::nanoseconds margin
    );
    // Kills all remaining processes, unless it was dismissed.
    ~child();
    child(const child&) = delete;
    child& operator=(const child&) = delete;

    guard& watcher() noexcept { return guard_; }

    // The process becomes the command. Called only after everything that can stop the command is in
    // place: otherwise, if the tool were killed in between, the command would run on.
    void begin();
    // Throws failure 126 or 127 if it could not be executed. Call it when the source can be read,
    // and after the end of the process. On a slow disk exec may take long, and the lease goes on
    // meanwhile.
    void check_begun();
    int begun_source() const noexcept { return launch_.source(); }

    // Call it when the source can be read. If the terminal stopped the command (Ctrl-Z, or a read
    // from the background), the tool stops, too, and both go on when the shell continues them.
    void follow();
    int source() const noexcept { return guard_.source(); }

    // Signals the command's group, or its descendants if the group may be gone.
    void signal_group(int number) noexcept;
    // Signals its group and the processes that have left it; answers with the number of those.
    descendants::count signal_all(int number) noexcept;

    // The end of the command as a shell says it: its status, or 128 + the signal.
    std::optional<int> status() const noexcept { return status_; }
    // From now on it reports the end of the last descendant. Call it only after the end of the
    // command.
    void await_all() noexcept;
    bool have_all_ended() const noexcept { return have_all_ended_; }
    // Leaves the living descendants alone. Call it only after the end of the command.
    void dismiss() noexcept;

private:
    void stop_along(int by_signal);

    std::string name_;
    launch launch_;
    terminal terminal_;
    guard guard_;
    std::optional<int> status_;
    bool awaits_all_ = false;
    bool have_all_ended_ = false;
};

}  // namespace leasehold::cli
