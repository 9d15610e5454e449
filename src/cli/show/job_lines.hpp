#pragma once
// Jobs as they are written for the tool: one JSON object per line, and the words of its options.
#include <istream>
#include <string>
#include <vector>

#include "leasehold/job.hpp"

namespace leasehold::cli {

// The jobs in these lines. A member that a line lacks is as in `otherwise`. Throws failure, with
// the number of the line, if a line is not as `leasehold job --help` says; skips empty lines.
// `name`: the file's.
std::vector<new_job> jobs_in(
    std::istream& lines, const new_job& otherwise, const std::string& name
);

// The word PAYLOAD of a command line; of "-" all that comes from standard input.
std::string payload_of(const std::string& word);

// "2026-12-24T18:00:00Z", with or without fractions of a second. `what` is its name in the failure.
schedule::instant parse_instant(const std::string& text, const std::string& what);

// keep, replace, fail
on_conflict conflict_of(const std::string& word);
// ended, started
unique_until unique_until_of(const std::string& word);

// The last line of `text` that has a word in it.
std::string last_line_of(const std::string& text);
// One line about the error of a job: the last line of the command's output, if any, and then its
// status.
std::string summary_of(const std::string& error);

}  // namespace leasehold::cli
