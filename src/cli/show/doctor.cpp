// `leasehold doctor`: whether all is well with the database, and why a key is not free.
#include "leasehold/doctor.hpp"

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/key_option.hpp"
#include "cli/open.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/show/described.hpp"
#include "cli/show/row_locked.hpp"

namespace leasehold::cli {
namespace {

struct doctor_options {
    key_option key;
    bool is_quiet = false;
    std::string held_longer_than = "1d", waiting_longer_than = "10m", snapshot_older_than = "10m";
};

void print_finding(const finding& each) {
    const bool is_good = each.severity == severity::good;
    const char* const mark = is_good                              ? "good     "
                             : each.severity == severity::warning ? "warning  "
                                                                  : "ERROR    ";
    const style look = is_good                              ? style::plain
                       : each.severity == severity::warning ? style::bold
                                                            : style::red;
    print_line(styled(mark, look) + printable(each.what));
    const std::string indent(std::string_view{"warning  "}.size(), ' ');
    if (!each.why.empty()) print_line(indent + "why: " + printable(each.why));
    if (!each.remedy.empty()) print_line(indent + "do:  " + printable(each.remedy));
}

nlohmann::json json_of_finding(const finding& each) {
    return {
        {"finding", each.name},
        {"severity", name_of(each.severity)},
        {"what", each.what},
        {"why", each.why},
        {"do", each.remedy}};
}

// 0, 1 with a warning, 2 with an error.
int show_findings(const std::vector<finding>& findings, bool is_json, bool is_quiet) {
    int warnings = 0, errors = 0;
    for (const finding& each : findings) {
        warnings += each.severity == severity::warning ? 1 : 0;
        errors += each.severity == severity::error ? 1 : 0;
        // It is unknown whether the remaining parts are good.
        const bool is_known = each.name != "not_looked_at";
        if (is_quiet && each.severity == severity::good && is_known) continue;
        is_json ? print_json(json_of_finding(each)) : print_finding(each);
    }
    if (!is_json && !is_quiet) {
        const auto counted = [](int count, const char* what) {
            return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
        };
        const bool is_well = warnings + errors == 0;
        print_line(
            is_well ? "all is well" : counted(errors, "error") + ", " + counted(warnings, "warning")
        );
    }
    return static_cast<int>(worst_of(findings));
}

int show_key(const database& db, const key& name, bool is_json, bool is_quiet) {
    const key_diagnosis found = diagnose_key(db, name);
    if (!is_json) {
        const int status = show_findings(found.findings, false, is_quiet);
        if (found.waiters.empty() || is_quiet) return status;
        table waiters{{"WAITS", "FOR"}};
        for (const waiter_info& each : found.waiters) {
            waiters.add({{printable(each.node_info)}, {shown(each.waits_for)}});
        }
        waiters.print();
        return status;
    }
    nlohmann::json holders = nlohmann::json::array(), waiters = nlohmann::json::array(),
                   findings = nlohmann::json::array();
    for (const lock_info& each : found.holders) holders.push_back(json_of(each));
    for (const waiter_info& each : found.waiters) waiters.push_back(json_of(each));
    for (const finding& each : found.findings) findings.push_back(json_of_finding(each));
    print_json({
        {"key", name.name()},
        {"lock", found.lock ? json_of(*found.lock) : nlohmann::json()},
        {"holders", holders},
        {"heartbeat_seconds_ago",
         found.session ? nlohmann::json(seconds_of(found.session->heartbeat_ago))
                       : nlohmann::json()},
        {"waiters", waiters},
        {"row_lock", found.row_lock ? fields_of(*found.row_lock) : nlohmann::json()},
        {"findings", findings},
    });
    return static_cast<int>(worst_of(found.findings));
}

constexpr const char* doctor_help =
    "Without KEY the doctor examines the server, its clock, its settings and standbys, the\n"
    "tables and this user's rights to them, sessions, the clean-up, keys, queues, jobs that\n"
    "were given up, runs and schedules. With KEY it says who has the key and how, whose open\n"
    "transaction keeps its row, whether the holder still shows signs of life, and who waits.\n"
    "Each finding says what was found, why it matters, and what to do. The doctor changes\n"
    "nothing.\n"
    "\n"
    "The doctor says what this user may not ask, and does not judge that. PostgreSQL tells a\n"
    "member of pg_read_all_stats more, and MySQL and MariaDB a user who has PROCESS.\n"
    "\n"
    "Examples:\n"
    "  leasehold doctor\n"
    "  leasehold doctor nightly-backup\n"
    "  leasehold doctor --quiet || mail -s 'the database of our locks' ops@example.org\n"
    "  leasehold --json doctor | jq -r 'select(.severity == \"error\") | .do'\n"
    "\n"
    "Exit status: 0 if all is well, 1 with a warning, 2 with an error (also if the database\n"
    "cannot be reached, or has no tables); with KEY 69 and 78 for those; otherwise see\n"
    "`leasehold --help`.\n";

}  // namespace

command add_doctor(CLI::App& tool, const global_options& options) {
    CLI::App* const parser =
        tool.add_subcommand("doctor", "Find what is wrong with the database, or with a key");
    auto chosen = std::make_shared<doctor_options>();
    chosen->key.add(*parser, "KEY", "Why it is not free");
    parser->add_flag("--quiet", chosen->is_quiet, "Only what is not good, or not known");
    parser->add_option("--held-longer-than", chosen->held_longer_than, "Name such keys; default 1d")
        ->option_text("D");
    parser
        ->add_option("--waiting-longer-than", chosen->waiting_longer_than, "Of a job; default 10m")
        ->option_text("D");
    parser
        ->add_option(
            "--snapshot-older-than", chosen->snapshot_older_than, "Of a transaction; default 10m"
        )
        ->option_text("D");
    parser->footer(doctor_help);
    return {parser, [chosen, &options] {
                diagnosis_settings settings;
                settings.held_longer_than =
                    parse_seconds(chosen->held_longer_than, "--held-longer-than");
                settings.waiting_longer_than =
                    parse_seconds(chosen->waiting_longer_than, "--waiting-longer-than");
                settings.snapshot_older_than =
                    parse_seconds(chosen->snapshot_older_than, "--snapshot-older-than");
                const database db = open_database(options);
                if (chosen->key.is_given()) {
                    return show_key(db, chosen->key.get(), options.is_json, chosen->is_quiet);
                }
                return show_findings(diagnose(db, settings), options.is_json, chosen->is_quiet);
            }};
}

}  // namespace leasehold::cli
