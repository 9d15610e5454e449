// `leasehold history`: the grants, their holders and lengths, and how they ended.
#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/exit_status.hpp"
#include "cli/open.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "leasehold/grant_history.hpp"

namespace leasehold::cli {
namespace {

struct grants_options {
    std::optional<std::string> key;  // not given: all keys
    std::string prefix;
    std::string within;  // empty: as long as it is kept
    int limit = 100;
    std::string keep;  // empty: as before
};

std::optional<std::chrono::microseconds> period(const std::string& text, const char* option) {
    if (text.empty()) return std::nullopt;
    return parse_duration(text, option);
}

nlohmann::json json_of_grant(const grant_record& grant) {
    using nlohmann::json;
    json object{
        {"key", grant.key},
        {"token", grant.token.number},
        {"node", grant.node_info},
        {"kind", name_of(grant.kind)},
        {"mode", name_of(grant.mode)},
        {"ended_seconds_ago", seconds_of(grant.ended_ago)},
        {"held_seconds", grant.held_for ? json(seconds_of(*grant.held_for)) : json()},
        {"ending", name_of(grant.ending)},
        {"metadata", grant.metadata},
    };
    if (grant.kind == lock_kind::semaphore) object["permits"] = grant.permits;
    return object;
}

std::string kind_in_words(const grant_record& grant) {
    if (grant.kind == lock_kind::mutex) return "mutex";
    if (grant.kind == lock_kind::shared_mutex) return name_of(grant.mode);
    return std::to_string(grant.permits) + (grant.permits == 1 ? " permit" : " permits");
}

std::vector<cell> row_of_grant(const grant_record& grant) {
    const bool is_bad =
        grant.ending == grant_ending::expired || grant.ending == grant_ending::forced;
    return {
        {printable(grant.key)},
        {std::to_string(grant.token.number)},
        {printable(grant.node_info)},
        {grant.held_for ? shown(*grant.held_for) : "-"},
        {shown(grant.ended_ago) + " ago"},
        {name_of(grant.ending), is_bad ? style::red : style::plain},
        {kind_in_words(grant)},
        {printable(grant.metadata)},
    };
}

// Tells why the answer may have no grants, or no new ones.
void tell_unless_written(const grant_history_status& now, bool is_json) {
    const char* message = nullptr;
    if (!now.is_on) {
        message = "grants that end now are not written down: `leasehold history on` begins";
    } else if (now.is_broken) {
        message =
            "grants that end now are not written down, although history is on: triggers are "
            "missing or disabled; `leasehold history on` makes them again";
    }
    if (message) tell(is_json, "not_written", message, {});
}

int show_grants(const database& db, const grants_options& chosen, bool is_json) {
    grant_filter filter;
    filter.prefix = chosen.prefix;
    filter.ended_within = period(chosen.within, "--within");
    filter.limit = chosen.limit;
    const auto grants =
        chosen.key ? list_grants_of(db, key{*chosen.key}, filter) : list_grants(db, filter);
    table shown_grants{{"KEY", "TOKEN", "NODE", "HELD", "ENDED", "HOW", "KIND", "NOTE"}};
    for (const grant_record& each : grants) {
        if (is_json) {
            print_json(json_of_grant(each));
        } else {
            shown_grants.add(row_of_grant(each));
        }
    }
    if (!is_json) shown_grants.print();
    tell_unless_written(grant_history_state(db), is_json);
    return exit_status::done;
}

int show_history_status(const database& db, bool is_json) {
    const grant_history_status now = grant_history_state(db);
    print_result(
        is_json,
        {{"on", now.is_on}, {"broken", now.is_broken}, {"keep_seconds", seconds_of(now.keep)}},
        std::string{now.is_on ? "on" : "off"} + "; what ended is kept for " + shown(now.keep)
    );
    if (now.is_broken && !is_json) tell_unless_written(now, is_json);
    return exit_status::done;
}

int set_history(const database& db, bool is_on, const grants_options& chosen, bool is_json) {
    if (is_on) {
        enable_grant_history(db, period(chosen.keep, "--keep"));
    } else {
        disable_grant_history(db);
    }
    return show_history_status(db, is_json);
}

constexpr const char* history_examples =
    "The list has the grants that have ended, the latest first; with --key it goes by the\n"
    "tokens of that key. HELD is for how long the key was held. HOW is released (let go, or\n"
    "handed over), expired (its session or term was over, at that time), forced (by `unlock\n"
    "--force`) or replaced (by an upgrade of the same holder). `leasehold locks` shows who\n"
    "holds a key now.\n"
    "\n"
    "The history is off at first, and costs nothing then. `on` makes triggers on leasehold's\n"
    "tables, which write each grant down in the commit that ends it, for all programs, at\n"
    "once. `on` needs the rights of the user who migrates, and on MySQL and MariaDB also\n"
    "TRIGGER. The clean-up removes what was kept for long enough; `off` leaves the rest until\n"
    "then.\n"
    "\n"
    "Examples:\n"
    "  leasehold history on --keep 90d\n"
    "  leasehold history --key invoices/closing\n"
    "  leasehold history --prefix reports/ --within 1d\n"
    "  leasehold --json history --limit 1000 | jq -r 'select(.ending == \"expired\") | .node'\n"
    "  leasehold history status\n"
    "  leasehold history off\n"
    "\n"
    "Exit status: 0, also if there is none; otherwise see `leasehold --help`.\n";

}  // namespace

command add_history(CLI::App& tool, const global_options& options) {
    CLI::App* const parser =
        tool.add_subcommand("history", "Show what was granted, and how that ended");
    auto chosen = std::make_shared<grants_options>();
    parser->require_subcommand(0, 1);
    parser->add_option("--key", chosen->key, "Only grants of this key")->option_text("KEY");
    parser->add_option("--prefix", chosen->prefix, "Only keys that begin with P")
        ->option_text("P")
        ->excludes("--key");
    parser->add_option("--within", chosen->within, "Only what ended at most D ago")
        ->option_text("D");
    parser->add_option("--limit", chosen->limit, "At most N, 1 to 100000; default 100")
        ->option_text("N")
        ->check(CLI::Range(1, 100'000));
    CLI::App* const on =
        parser->add_subcommand("on", "Write down what ends from now on; again: --keep changes");
    on->add_option("--keep", chosen->keep, "For how long; at first 30d, then as before")
        ->option_text("D");
    CLI::App* const off = parser->add_subcommand("off", "Write nothing down any more");
    CLI::App* const status = parser->add_subcommand("status", "Show whether it is on");
    parser->footer(history_examples);
    for (CLI::App* const each : {on, off, status}) each->fallthrough()->footer(history_examples);

    return {parser, [chosen, on, off, status, &options] {
                const database db = open_database(options);
                if (on->parsed()) return set_history(db, true, *chosen, options.is_json);
                if (off->parsed()) return set_history(db, false, *chosen, options.is_json);
                if (status->parsed()) return show_history_status(db, options.is_json);
                return show_grants(db, *chosen, options.is_json);
            }};
}

}  // namespace leasehold::cli
