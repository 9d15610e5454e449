// Bytes that were not ours: what we show of them is UTF-8, and JSON is JSON.
#include <string>

#include "cli/show/json_source.hpp"
#include "core/json_text.hpp"
#include "core/utf8.hpp"
#include "fuzz.hpp"
#include "jobs/sql_job_failures.hpp"
#include "leasehold/key.hpp"

namespace leasehold::fuzz {
namespace {

void try_utf8(std::string_view text) {
    require(is_utf8(printable_utf8(text)), "printable text is UTF-8");
    require(is_utf8(printable_lines(text)), "printable lines are UTF-8");
    require(is_utf8(valid_utf8(text)), "mended text is UTF-8");
    if (is_utf8(text)) require(valid_utf8(text) == text, "good text stays");
    for (const std::size_t most : {std::size_t{0}, std::size_t{3}, text.size() / 2}) {
        const auto cut = cut_utf8(text, most);
        require(cut.size() <= most && text.starts_with(cut), "a cut is a beginning");
        if (is_utf8(text)) require(is_utf8(cut), "a cut ends between characters");
    }
    require(cli::is_json(json_string(text)), "a string of JSON is JSON");
}

void try_json(std::string_view text) {
    const bool is_one = cli::is_json(text);
    // The parser behind it calls itself once for each bracket; callers look at the depth first.
    constexpr int deepest = 200;
    if (cli::depth_of(text) > deepest) return;
    for (const char* name : {"a", "payload", ""}) {
        const auto found = cli::member_of(text, name);
        if (!found) continue;
        const bool are_both = cli::is_json(found->text) && cli::is_json(found->without);
        require(are_both == is_one, "both texts are JSON if the object is");
    }
}

}  // namespace

void try_text(std::string_view text) {
    try_utf8(text);
    try_json(text);
    const auto failures = failures_in(text);
    require(failures.size() <= 20, "20 failures are the most");
    for (const job_failure& each : failures) {
        require(each.attempt > 0 && is_utf8(each.error) && is_utf8(each.node_info), "it is text");
    }
    is_taken([&] {
        const key made{text};
        require(made.name() == text && is_utf8(text), "a key is its text");
    });
}

}  // namespace leasehold::fuzz
