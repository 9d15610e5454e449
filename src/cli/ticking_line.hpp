#pragma once
// Progress on one line of a terminal, which appears after two seconds, is written over each second,
// and is erased at the end. Shows nothing if standard error is no terminal.
//
// Threads: one; `words` is called on it.
#include <chrono>
#include <functional>
#include <string>
#include <utility>

#include "cli/run/events.hpp"
#include "leasehold/clock.hpp"

namespace leasehold::cli {

class ticking_line {
public:
    ticking_line(std::function<std::string()> words, bool is_json);
    ~ticking_line();
    ticking_line(const ticking_line&) = delete;
    ticking_line& operator=(const ticking_line&) = delete;

    // Shows the line if it is due. The answer is the time until it is due next.
    std::chrono::nanoseconds tick();
    void clear();

private:
    const std::function<std::string()> words_;
    const bool is_on_;
    bool is_shown_ = false;
    local_clock::time_point next_;
};

// Runs the work on a thread of its own and shows its progress.
template <class Result, class Work>
Result with_progress(Work work, std::function<std::string()> words, bool is_json) {
    ticking_line progress{std::move(words), is_json};
    background<Result> running{std::move(work)};
    while (!wait_for({running.source()}, progress.tick())) continue;
    progress.clear();
    return running.take();
}

}  // namespace leasehold::cli
