#pragma once
// The sections of the page.
//
// Threads: safe.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "cli/serve/page.hpp"

namespace leasehold::cli {

struct finding_counts {
    std::int64_t errors = 0;
    std::int64_t warnings = 0;
};
finding_counts worst_of_findings(const std::vector<finding>& all);

std::string findings_section(const page_view& view);
std::string locks_section(const page_view& view);
std::string sessions_section(const page_view& view);
std::string runs_section(const page_view& view);
std::string queues_section(const page_view& view);
std::string failing_section(const page_view& view);

// Lines of the last hour, without a script: the waiting and the running jobs.
std::string sparkline(const std::vector<job_sample>& samples, std::int64_t minute_now);

// One button that sends these fields.
std::string button_form(
    const page_view& view,
    const std::string& action,
    const std::vector<std::pair<std::string, std::string>>& fields,
    const std::string& label,
    const std::string& look = {}
);

}  // namespace leasehold::cli
