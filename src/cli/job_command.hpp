#pragma once
// A command that does one job: the payload on its standard input, what it says on standard error
// kept and passed on.
//
// | what happens             | the command                                           |
// |--------------------------|-------------------------------------------------------|
// | the job is asked to stop | gets SIGTERM, with its process group; later SIGKILL   |
// | the tool is killed       | is killed by the kernel (PR_SET_PDEATHSIG), alone     |
// | it ends                  | what it has left in the background is left alone      |
//
// Threads: any, several at once; the thread must live for as long as the command.
#include <chrono>
#include <stop_token>
#include <string>

#include "cli/launch.hpp"
#include "cli/program.hpp"

namespace leasehold::cli {

struct job_ending {
    int status = 0;            // as a shell would say it
    std::string error_tail{};  // the last of what it said on standard error
};

// Throws failure 126 or 127 where it could not be executed.
job_ending run_for_job(
    const program& what,
    const inheritance& from,
    const std::string& payload,
    const std::stop_token& stop,
    std::chrono::milliseconds kill_after
);

}  // namespace leasehold::cli
