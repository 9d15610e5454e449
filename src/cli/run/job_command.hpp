#pragma once
// A command that does one job: it gets the payload on its standard input, and its standard error is
// kept and passed on. Another kind of command stays, and does one job after another: see
// line_protocol.hpp. Each runs below a guard of its own, see guard.hpp, in a session without a
// terminal: reading from one would stop the command for good.
//
// | what happens             | the command                                           |
// |--------------------------|-------------------------------------------------------|
// | the job is asked to stop | gets SIGTERM, with all that came of it; later SIGKILL |
// | the tool is killed       | is killed by its guard, with all that came of it      |
// | the tool is stopped past | the same, after a SIGTERM, before the job could run   |
// | the session's deadline   | elsewhere                                             |
// | its guard is killed      | is killed by the kernel, with its process group       |
// | it ends                  | what it has left in the background is left alone, but |
// |                          | killed where it was asked to stop                     |
//
// Threads: any, several at once.
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/run/error_copy.hpp"
#include "cli/run/launch.hpp"
#include "cli/run/program.hpp"
#include "leasehold/worker.hpp"

namespace leasehold::cli {

struct job_ending {
    int status = 0;            // as a shell would say it
    std::string error_tail{};  // the end of its standard error, in whole characters
};

class job_commands {
public:
    // `margin` is that of the sessions that have the jobs. `kill_after` counts from SIGTERM on.
    job_commands(
        program what, std::chrono::milliseconds margin, std::chrono::milliseconds kill_after
    )
        : what_(std::move(what)), margin_(margin), kill_after_(kill_after) {}

    // Stops the command when `mine` is no longer this worker's. Throws failure 126 or 127 if the
    // command could not be executed.
    job_ending run(const inheritance& from, const job& mine);

    // Gives the job to a command that stays, and starts one if each has a job. Sends it `line`, and
    // hands each line of its standard output to `obey` until that says that the job has ended:
    // nullopt; or until the command ends. If `obey` throws, that command is killed.
    std::optional<job_ending> run_staying(
        const inheritance& from,
        const job& mine,
        std::string_view line,
        const std::function<bool(std::string_view)>& obey
    );
    // Ends the commands that stay and have no job: by the end of their standard input, and later as
    // a job's.
    int end_staying() noexcept;  // their number

    // Adds text behind the commands' output so far.
    void tell(std::string_view words) { errors_.add(words); }
    // Waits until our standard error has all output of the commands, unless its reader is stalled.
    void flush() noexcept { errors_.flush(); }

private:
    class running;
    std::shared_ptr<running> take_idle();
    std::shared_ptr<running> start(const inheritance& from, const job& mine, bool stays);

    const program what_;
    const std::chrono::milliseconds margin_;
    const std::chrono::milliseconds kill_after_;
    std::mutex launching_;  // see guard.hpp
    error_copy errors_;
    std::mutex idle_mutex_;
    std::vector<std::shared_ptr<running>> idle_;  // commands that stay
};

}  // namespace leasehold::cli
