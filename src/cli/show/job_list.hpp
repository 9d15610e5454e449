#pragma once
// The options of `leasehold job` that choose jobs, the list of them, and a change of each of them.
#include <CLI/CLI.hpp>
#include <functional>
#include <string>

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

// What became of a job, in a word and in a sentence.
struct job_change {
    std::string word;
    std::string sentence;
    bool is_done = false;
};

// Counts the jobs first. Without --yes this is all; with it, changes one after another, oldest
// first, each in a commit of its own. `verb`: "retried".
int change_chosen(
    const chosen_jobs& chosen,
    const global_options& options,
    const std::string& verb,
    const std::function<job_change(const database&, job_id)>& change
);

void print_job(const job_info& job, bool is_json);

}  // namespace leasehold::cli
