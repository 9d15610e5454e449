#pragma once
// The fate of each job: who enqueued it, who ran it under which token, what was committed.
//
// Threads: plain values, pure functions.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "soak/facts.hpp"
#include "soak/history.hpp"

namespace leasehold::soak {

// A transaction that completes a job.
struct job_effect : step {
    std::int64_t completing_ns = 0;  // its commit was about to be sent; 0: it never was
    // Until when the session lived for certain, as far as was known when it had ended; 0: it had
    // been lost.
    std::int64_t live_until_ns = 0;
};

// One call of a handler.
struct job_run : step {
    // Until when the session lived for certain, as far as was ever known in this run.
    std::int64_t live_until_ns = 0;
    // Until when the claim was certainly held: by a live session, and not ended yet.
    std::int64_t held_until_ns = 0;
};

struct done_row {
    int process = 0;  // with id: the effect that wrote it
    std::int64_t id = 0;
    std::int64_t token = 0;
};

struct job_facts {
    int queue = -1;
    std::int64_t ordering_key = 0;  // 0: none
    std::int64_t unique_key = 0;
    std::int64_t asked_ns = 0;             // enqueuing it was about to be sent
    std::int64_t answered_ns = never_ns;   // it was there
    bool is_new = false;                   // of the answer
    int cancels = 0;                       // that may have come before its end
    std::int64_t cancelled_ns = never_ns;  // known to be, before it ran again
    std::vector<job_run> runs;             // in order of their starts
    std::vector<job_effect> effects;
    std::vector<done_row> rows;
    std::string left;  // how it stands in the end; empty: it is not there

    // When the commit of its effect was about to be sent; nothing was committed: never.
    std::int64_t completed_ns() const;
};
using all_jobs = std::map<std::int64_t, job_facts>;

all_jobs gather_jobs(const std::vector<record>& history);

}  // namespace leasehold::soak
