// `leasehold names WHAT`: the names that are in the database, one in a line, for the shells'
// completion. If it cannot get them, it ends soon and says nothing, since a user who pressed a key
// is waiting.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <memory>
#include <set>

#include "cli/exit_status.hpp"
#include "cli/open.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "leasehold/inspect.hpp"
#include "leasehold/job_queue.hpp"
#include "leasehold/job_schedule.hpp"
#include "leasehold/once.hpp"

namespace leasehold::cli {
namespace {

constexpr unsigned max_seconds = 1;
constexpr std::size_t max_names = 1000;

// A shell would split a name with other characters, or run a part of it.
bool is_plain(std::string_view name) {
    const auto may_stand = [](char each) {
        return (each >= 'a' && each <= 'z') || (each >= 'A' && each <= 'Z') ||
               (each >= '0' && each <= '9') ||
               std::string_view{"._/@%+,-"}.find(each) != std::string_view::npos;
    };
    return !name.empty() && name.front() != '-' && std::ranges::all_of(name, may_stand);
}

std::set<std::string> names_in(const database& db, const std::string& what) {
    std::set<std::string> names;
    if (what == "keys") {
        for (const lock_info& each : list_locks(db)) names.insert(each.key);
        for (const lock_info& each : list_free_keys(db, {.limit = 1000})) names.insert(each.key);
    } else if (what == "queues") {
        for (const queue_info& each : list_queues(db)) names.insert(each.name);
    } else if (what == "tasks") {
        for (const run_info& each : list_runs(db)) names.insert(each.name);
    } else {
        for (const job_schedule_info& each : list_job_schedules(db)) names.insert(each.what.name);
    }
    return names;
}

[[noreturn]] void give_up(int) {
    _exit(exit_status::done);
}

int print_names(const global_options& options, const std::string& what) {
    std::signal(SIGALRM, give_up);
    alarm(max_seconds);
    std::size_t printed = 0;
    try {
        for (const std::string& each : names_in(open_database(options), what)) {
            if (!is_plain(each) || ++printed > max_names) continue;
            print_line(each);
        }
    } catch (const std::exception&) {
        return exit_status::done;
    }
    return exit_status::done;
}

}  // namespace

command add_names(CLI::App& tool, const global_options& options) {
    CLI::App* const parser = tool.add_subcommand("names", "Print names that are in the database");
    parser->group("");  // for completion
    auto what = std::make_shared<std::string>();
    parser->add_option("WHAT", *what, "keys, queues, tasks or schedules")
        ->required()
        ->check(CLI::IsMember(std::vector<std::string>{"keys", "queues", "tasks", "schedules"}));
    return {parser, [what, &options] { return print_names(options, *what); }};
}

}  // namespace leasehold::cli
