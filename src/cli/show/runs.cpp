// `leasehold runs`: the last runs, their times, places and results.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/exit_status.hpp"
#include "cli/open.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "leasehold/once.hpp"

namespace leasehold::cli {
namespace {

nlohmann::json json_of(const run_info& run) {
    using nlohmann::json;
    const auto or_null = [](const std::optional<schedule::instant>& when) {
        return when ? json(shown(*when)) : json();
    };
    return {
        {"name", run.name},
        {"tick", shown(run.tick)},
        {"state", name_of(run.state)},
        {"exit_status", run.exit_status ? json(*run.exit_status) : json()},
        {"message", run.message},
        {"node", run.node_info},
        {"token", run.token.number},
        {"owner", run.owner.text()},
        {"started_seconds_ago", seconds_of(run.started_ago)},
        {"took_seconds", run.took ? json(seconds_of(*run.took)) : json()},
        {"closed_seconds", seconds_of(run.closed_for)},
        {"schedule", run.schedule_text.empty() ? json() : json(run.schedule_text)},
        {"next", or_null(run.next)},
        {"overdue", or_null(run.overdue)},
    };
}

int show_runs(const database& db, const std::string& prefix, bool is_json) {
    table runs{
        {"NAME",
         "TICK",
         "STATE",
         "STATUS",
         "NODE",
         "STARTED",
         "TOOK",
         "NEXT",
         "OVERDUE",
         "MESSAGE"}};
    const auto or_dash = [](const std::optional<schedule::instant>& when) {
        return when ? shown(*when) : "-";
    };
    for (const run_info& each : list_runs(db, prefix)) {
        if (is_json) print_json(json_of(each));
        const bool is_bad = each.state == run_state::failed || each.state == run_state::abandoned;
        runs.add({
            {printable(each.name)},
            {shown(each.tick)},
            {name_of(each.state), is_bad ? style::red : style::plain},
            {each.exit_status ? std::to_string(*each.exit_status) : "-"},
            {printable(each.node_info)},
            {shown(each.started_ago) + " ago"},
            {each.took ? shown(*each.took) : "-"},
            {or_dash(each.next)},
            {or_dash(each.overdue), each.overdue ? style::red : style::plain},
            {printable(each.message)},
        });
    }
    if (!is_json) runs.print();
    return exit_status::done;
}

int forget(const database& db, const key& name, bool is_json) {
    const bool was_there = forget_run(db, name);
    if (is_json) {
        print_json({{"name", name.name()}, {"forgotten", was_there}});
    } else if (was_there) {
        print_line("forgot what '" + printable(name.name()) + "' has run");
    } else {
        std::cerr << "leasehold: '" + printable(name.name()) + "' has not run: nothing to do\n";
    }
    return exit_status::done;
}

}  // namespace

command add_runs(CLI::App& tool, const global_options& options) {
    CLI::App* const parser = tool.add_subcommand("runs", "Show what `once` ran last, and how");
    auto prefix = std::make_shared<std::string>();
    auto forgotten = std::make_shared<std::string>();
    parser->add_option("--prefix", *prefix, "Only names that begin with P")->option_text("P");
    CLI::Option* const forget_option =
        parser
            ->add_option(
                "--forget", *forgotten, "Remove the record of NAME: its tick can be run again"
            )
            ->option_text("NAME");
    parser->footer(
        "The list has the last run of each task. TICK is the fire time that it was for, in UTC.\n"
        "STATE is running, succeeded, failed, or abandoned: the run was started and never\n"
        "finished, and its host has lost the lease; the next call of `once` runs the tick again,\n"
        "unless --no-repeat. NEXT is when the task fires next. OVERDUE is the latest fire time\n"
        "that has passed and that nobody has started: nobody has called, or the run of an earlier\n"
        "one goes on. Both go by the schedule of the last run, and are unknown (-) if an older\n"
        "leasehold has started it. A record stays until it is forgotten, so that no tick runs\n"
        "twice.\n"
        "\n"
        "Examples:\n"
        "  leasehold runs\n"
        "  leasehold runs --prefix reports/\n"
        "  leasehold --json runs | jq -r 'select(.state == \"failed\") | .name'\n"
        "  leasehold --json runs | jq -r 'select(.overdue) | .name'\n"
        "  leasehold runs --forget reports/2026\n"
        "\n"
        "Exit status: 0, also if there is none; otherwise see `leasehold --help`.\n"
    );
    return {parser, [prefix, forgotten, forget_option, &options] {
                if (forget_option->count() > 0) {
                    const key name{*forgotten};
                    return forget(open_database(options), name, options.is_json);
                }
                return show_runs(open_database(options), *prefix, options.is_json);
            }};
}

}  // namespace leasehold::cli
