#pragma once
// These must be true of jobs, whatever was done to their workers and servers.
//
// J1  The effect of a job is there once at most, and nothing that was refused; in the end once, and
//     no job is left, but for cancelled ones. A job that was cancelled before it ran again has no
//     effect.
// J2  The tokens of a job are unique, and grow. The claim that committed its effect was the last:
//     no claim is ever made under a greater token.
// J3  No job is taken from its holder: nobody starts it under a newer token, and nothing of its
//     holder is refused, while the holder's session lives and the holder has not ended it.
// J4  No more jobs of a queue run at once than its limit allows.
// J5  Jobs of one ordering key run one at a time; and no job of it starts before another has ended
//     that was there before it was enqueued.
// J6  While a job of a unique key has not ended no other is enqueued.
//
// A claim is held for certain from its handler's start until its effect's commit is sent, its
// handler returns, or its session may have ended as far as it knew, whichever is first. A killed
// holder held it until the last deadline that it had noted.
//
// Threads: pure functions.
#include "soak/finding.hpp"
#include "soak/jobs/job_facts.hpp"
#include "soak/share_checkers.hpp"

namespace leasehold::soak {

findings check_job_effects(const all_jobs& all);
findings check_job_tokens(const all_jobs& all);
findings check_job_holders(const all_jobs& all);
findings check_job_limits(const all_jobs& all);
findings check_job_order(const all_jobs& all);
findings check_job_uniqueness(const all_jobs& all);

// Effects that were committed, by queue and kind of job: for check_progress().
progress measure_jobs(const all_jobs& all);
// The greatest number that ran at once for certain, in this queue.
std::int64_t most_run_at_once(const all_jobs& all, int queue);
// Jobs that somebody else ran after their holder was gone.
std::int64_t count_taken_over(const all_jobs& all);

}  // namespace leasehold::soak
