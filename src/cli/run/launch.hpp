#pragma once
// All that a process needs to become the command, prepared before the fork: after a fork of a
// process with threads only async-signal-safe calls are allowed, and so no allocation.
//
// Threads: made by the main thread; run() in a process of its own.
#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/run/events.hpp"
#include "cli/run/program.hpp"
#include "cli/terminal.hpp"

namespace leasehold::cli {

// The open descriptors from 3 on. The tool reads the list once, before it opens any of its own.
std::vector<int> inherited_descriptors();

// The things that the command inherits and that differ from the tool's own.
struct inheritance {
    std::vector<std::pair<std::string, std::string>> additions;
    signal_state signals;
    // Pairs of a descriptor here, and its number there: 0 is the standard input.
    std::vector<std::pair<int, int>> streams{};
    // True if the command gets its own session, without a terminal that could stop it.
    bool is_apart = false;
};

class launch {
public:
    launch(const program& what, const inheritance& from);

    // Called in the process that is to become the command, whose parent is `parent`: waits for the
    // message to start, then executes the command. Returns only if that failed.
    void run(pid_t parent, const terminal& lender) noexcept;
    bool is_apart() const noexcept { return is_apart_; }

    // Called in the tool once that process exists.
    void keep_reading_end() noexcept { problem_.writing.close(); }
    void go(bool with_terminal) const;
    // Can be read when execve has failed or succeeded.
    int source() const noexcept { return problem_.reading.number(); }
    // The errno of execve; 0: the process became the command; nullopt: not known yet.
    std::optional<int> outcome() noexcept;

private:
    struct gap {
        unsigned first;
        unsigned last;
    };

    std::vector<std::string> words_;
    std::vector<char*> arguments_;
    std::vector<char*> shell_arguments_;  // for a script without #!, as shells do it
    std::vector<std::string> settings_;
    std::vector<char*> environment_;
    std::string path_;
    std::vector<gap> gaps_;
    const std::vector<std::pair<int, int>> streams_;
    const signal_state signals_;
    const bool is_apart_;
    descriptor go_;      // an eventfd: the end of the tool is no word to go
    pipe_ends problem_;  // the errno of execve; its end: none, it became the command
};

}  // namespace leasehold::cli
