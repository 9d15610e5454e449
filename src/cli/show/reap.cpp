// `leasehold reap`: cleans up after the dead, once.
#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/exit_status.hpp"
#include "cli/open.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "leasehold/reaper.hpp"

namespace leasehold::cli {
namespace {

std::string counted(std::int64_t number, const char* one, const char* many) {
    return std::to_string(number) + " " + (number == 1 ? one : many);
}

std::chrono::seconds whole_seconds(const std::string& text, const std::string& what) {
    return std::chrono::ceil<std::chrono::seconds>(parse_duration(text, what));
}

int run_reap(const database& db, const reap_settings& settings, bool is_json) {
    const reap_report done = reap(db, settings);
    print_result(
        is_json,
        {
            {"locks_freed", done.locks_freed},
            {"sessions_removed", done.sessions_removed},
            {"locks_removed", done.locks_removed},
            {"grants_removed", done.grants_removed},
            {"left", done.rows_left},
        },
        counted(done.locks_freed, "lock", "locks") + " of dead sessions freed, " +
            counted(done.sessions_removed, "dead session", "dead sessions") + " removed, " +
            counted(done.locks_removed, "idle lock", "idle locks") + " removed" +
            (done.grants_removed == 0
                 ? ""
                 : ", " + counted(done.grants_removed, "ended grant", "ended grants") +
                       " of the history removed") +
            (done.rows_left == 0 ? ""
                                 : "; " + counted(done.rows_left, "row", "rows") +
                                       " of the dead left, because somebody has " +
                                       (done.rows_left == 1 ? "it" : "them") + " locked")
    );
    return exit_status::done;
}

}  // namespace

command add_reap(CLI::App& tool, const global_options& options) {
    CLI::App* const parser = tool.add_subcommand("reap", "Clean up after the dead, once");
    struct retentions {
        std::string session = "1h";
        std::string lock = "7d";
    };
    auto chosen = std::make_shared<retentions>();
    parser
        ->add_option(
            "--session-retention",
            chosen->session,
            "Remove sessions dead for longer than D: at least 1m; default 1h"
        )
        ->option_text("D");
    parser
        ->add_option(
            "--lock-retention",
            chosen->lock,
            "Remove the rows of keys nobody held for longer than D: at least 1m; default 7d"
        )
        ->option_text("D");
    parser->footer(
        "Nothing depends on it but the size of the tables: what the dead held is free without it,\n"
        "and every running session does the same in the background. Tokens go on growing.\n"
        "\n"
        "Examples:\n"
        "  leasehold reap\n"
        "  leasehold reap --session-retention 1d --lock-retention 30d\n"
        "\n"
        "Exit status: 0; otherwise see `leasehold --help`.\n"
    );
    return {parser, [chosen, &options] {
                reap_settings settings;
                settings.session_retention = whole_seconds(chosen->session, "--session-retention");
                settings.lock_retention = whole_seconds(chosen->lock, "--lock-retention");
                return run_reap(open_database(options), settings, options.is_json);
            }};
}

}  // namespace leasehold::cli
