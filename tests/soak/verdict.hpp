#pragma once
// The verdicts of all checks on a history, and a summary of the history, for people.
//
// Threads: one.
#include <vector>

#include "soak/facts.hpp"
#include "soak/faults.hpp"
#include "soak/finding.hpp"
#include "soak/jobs/job_facts.hpp"
#include "soak/shares.hpp"

namespace leasehold::soak {

struct account {
    facts locks;
    all_shares shares;
    all_jobs jobs;
};
account read_account(const std::filesystem::path& folder);

// `commits_min`: of each kind.
findings judge(const account& all, std::int64_t commits_min);

void print_line(const char* what, const std::string& value);
void print(const account& all);
void print(const fault_counts& counts);
void print(const findings& found);

}  // namespace leasehold::soak
