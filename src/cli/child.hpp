#pragma once
// The command as a process group of its own, so that it can be stopped with all it has started.
//
// | the tool …               | the command …                                                    |
// |--------------------------|------------------------------------------------------------------|
// | is killed                | is killed by the kernel (PR_SET_PDEATHSIG), its group by the guard |
// | has the terminal         | gets it where it is the standard input, or when it asks for it     |
// | was given descriptors    | gets the same and none that the tool or its libraries opened      |
// | was given signals        | gets the same ignored and blocked, whatever they are in the tool  |
//
// Threads: made and used by the main thread only; the kernel ties the command's life to it.
#include <sys/types.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <utility>
#include <vector>

#include "cli/events.hpp"
#include "cli/program.hpp"

namespace leasehold::cli {

// Descriptors open from 3 on. Asked once, before the tool opens any of its own.
std::vector<int> inherited_descriptors();

// The terminal, while we are in its foreground.
class terminal {
public:
    terminal();
    bool exists() const noexcept { return device_.number() >= 0; }
    bool is_ours() const noexcept;
    bool is_lent() const noexcept { return is_lent_; }

    // To be lent by the borrower itself, in its own process, or it could read before it may.
    bool reserve() noexcept { return is_lent_ = is_ours(); }
    void lend(pid_t group) const noexcept { tcsetpgrp(device_.number(), group); }
    void take_back() noexcept;

private:
    descriptor device_;
    bool is_lent_ = false;
};

class child {
public:
    using environment = std::vector<std::pair<std::string, std::string>>;

    // A process that has a number, which it can be stopped by, and does nothing yet.
    child(
        const program& what,
        const environment& additions,
        const std::vector<int>& keep_open,
        const signal_state& signals
    );
    // Whatever happens, nothing goes on without its lease.
    ~child();
    child(const child&) = delete;
    child& operator=(const child&) = delete;

    // It becomes the command: not before all that can stop it is in place, or a tool that is
    // stopped in between leaves it running.
    void begin();
    // Throws failure 126 or 127 where it could not be executed. Call when the source can be read,
    // and on SIGCHLD: exec may take its time, on a slow disk, and the lease goes on meanwhile.
    void check_begun();
    int begun_source() const noexcept { return problem_.number(); }

    pid_t group() const noexcept { return pid_; }
    void signal_group(int number) const noexcept;
    // Something of it still runs.
    bool group_lives() const noexcept;

    // Call on SIGCHLD. Stopped by the terminal (Ctrl-Z, or it read from the background): the tool
    // stops, too, and both go on when the shell says so.
    void follow();
    // It ended. Its number stays taken, so that the group can be signalled safely, until reap().
    bool has_ended() const noexcept { return has_ended_; }
    // The shell's view of how it ended: its status, or 128 + the signal.
    int reap();

private:
    void stop_along(int by_signal);

    std::string name_;
    descriptor go_;       // an eventfd: the end of the tool is no word to go
    descriptor problem_;  // what execve said; its end: nothing, it became the command
    pid_t pid_ = -1;
    bool has_ended_ = false;
    bool is_reaped_ = false;
    terminal terminal_;
};

}  // namespace leasehold::cli
