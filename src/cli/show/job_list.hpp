#pragma once
// The options of `leasehold job` that choose jobs, the list of them, and a change of each of them.
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "cli/options.hpp"
#include "leasehold/job_queue.hpp"

namespace leasehold::cli {

struct chosen_jobs {
    job_filter filter;
    std::string state;
    std::string since;
    job_id after = 0;
    bool is_oldest = false;
    bool is_sure = false;  // --yes

    // False if no option says which jobs.
    bool is_any() const;
    job_filter made() const;
};

// Options that say which jobs: --queue, --state, --kind, --key, --error, --since.
void add_choice(CLI::App& parser, chosen_jobs& chosen);

int list_chosen(const chosen_jobs& chosen, const global_options& options);

// The outcome for one job, in a word and in a sentence.
struct job_change {
    std::string word;
    std::string sentence;
    bool is_done = false;
    bool is_there = true;
};
struct bulk_change {
    std::string verb;  // "retried"
    // Those that are changed without --state.
    std::vector<job_state> usual_states;
    job_change (*change)(const database&, job_id);
    bool must_be_done = false;  // the command fails if a job stays as it was
};

// Counts the chosen jobs, by state. With --yes changes them then, oldest first, each in a commit of
// its own. A job that has another state by then, or has gone, stays as it is.
int change_chosen(const chosen_jobs& chosen, const global_options& options, const bulk_change& how);

void print_job(const job_info& job, bool is_json);

}  // namespace leasehold::cli
