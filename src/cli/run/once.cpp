// `leasehold once NAME (--per D | --cron EXPR) -- CMD…`: runs a command once per tick, on one of
// all the hosts that call it.
#include "leasehold/once.hpp"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "cli/arguments.hpp"
#include "cli/key_option.hpp"
#include "cli/open.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/run/complaints.hpp"
#include "cli/run/errand.hpp"
#include "cli/run/error_tee.hpp"
#include "cli/run/once_forecast.hpp"
#include "cli/run/unstalled_errors.hpp"
#include "cli/show/described.hpp"
#include "cli/show/job_lines.hpp"
#include "cli/show/row_locked.hpp"
#include "leasehold/error.hpp"
#include "leasehold/inspect.hpp"

namespace leasehold::cli {
namespace {

using std::chrono::milliseconds;

struct once_options : errand_options {
    key_option name;
    std::string per;
    std::string cron;
    std::string zone;
    std::string at_least = "0";
    std::string at_most;
    std::string early = "1m";
    std::string wait = "0";
    bool is_never_repeated = false;
    bool is_dry = false;
};

// `within` is empty if the run was refused before it needed a session.
struct started {
    std::optional<session> within;  // outlives the run
    run_start answer;
};

// Runs in the background. It sets `is_there` before it makes anything in the database.
started start(
    const database& db,
    const planned_call& wanted,
    const std::stop_token& cancel,
    std::atomic<bool>& is_there
) {
    const auto& [what, when, settings] = wanted;
    run_outlook seen = outlook(db, what.name, when, settings);
    if (seen.refusal != start_refusal::none || cancel.stop_requested()) {
        return {std::nullopt, run_start{std::move(seen), what.name}};
    }
    session_settings timing = what.timing;
    timing.begins_with_grant = true;
    is_there = true;
    session within{db, timing};
    run_start answer = once{within, what.name, when, settings}.start(cancel);
    return {std::move(within), std::move(answer)};
}

// The result of an attempt; or the signal that ended the wait.
struct attempt_end {
    std::optional<started> result;
    int cancelled_by = 0;
};

attempt_end wait_for_start(const database& db, const planned_call& wanted, signal_inbox& signals) {
    std::atomic<bool> is_there = false;
    background<started> attempt{
        [&](std::stop_token cancel) { return start(db, wanted, cancel, is_there); }};
    constexpr std::chrono::hours for_ever{24};
    const auto time_left = [&](int) { return is_there ? max_goodbye : std::chrono::seconds{0}; };
    const int cancelled_by =
        wait_for_end(attempt, signals, time_left, -1, -1, [&] { return for_ever; });
    if (cancelled_by == 0) return {attempt.take(), 0};
    try {
        return {attempt.take(), cancelled_by};
    } catch (const error&) {
        return {std::nullopt, cancelled_by};  // the user no longer asks for what failed
    }
}

// Tries again while the database is away, until the errand's timeout has passed.
attempt_end outwait_outage(const database& db, const planned_call& wanted, signal_inbox& signals) {
    const errand& what = wanted.what;
    const auto began = local_clock::now();
    complaints said;
    while (true) {
        try {
            return wait_for_start(db, wanted, signals);
        } catch (const error& failure) {
            const auto now = local_clock::now();
            const bool may_pass = exit_status_of(failure.code()) == exit_status::unreachable ||
                                  failure.is_transient();
            if (!may_pass || now - began >= what.timeout.value_or(milliseconds{0})) throw;
            if (said.is_due(failure, now)) {
                report(
                    what.is_json,
                    name_of(failure.code()),
                    std::string{failure_of(failure).what()} +
                        "; waiting for the database, to start '" + what.name.name() + "' then"
                );
            }
        }
        const int asked_by = wait_a_moment(signals);
        if (asked_by != 0) return {std::nullopt, asked_by};
    }
}

// The runner's note, which is with its lease and not in the record; empty if it cannot be read.
std::string note_of(const database& db, const key& name) {
    try {
        const auto holder = describe(db, name);
        return holder && holder->is_held ? shown_note(*holder) : "";
    } catch (const error&) {
        return "";
    }
}

failure refused(const planned_call& wanted, const run_outlook& seen, const database& db) {
    const int status = wanted.what.statuses.busy;
    if (seen.refusal == start_refusal::running && !seen.holder) {
        if (const auto found = find_lock_of_row(db, wanted.what.name)) {
            return row_locked(*found, "'" + wanted.what.name.name() + "' is not free").with(status);
        }
    }
    std::string message = "'" + wanted.what.name.name() + "' ";
    if (seen.holder) {
        message += "is held by " + seen.holder->node_info + " for " + shown(seen.holder->held_for) +
                   shown_note(*seen.holder);
    } else if (seen.last) {
        message += story_of(*seen.last);
        if (seen.refusal == start_refusal::running) message += note_of(db, wanted.what.name);
    } else {
        message += "was held by somebody else, who has just let go of it";
    }
    if (seen.refusal == start_refusal::closed && seen.last) {
        message += "; it stays closed for " + shown(seen.last->closed_for);
    }
    message += "; the next tick is in " + shown(seen.next_in);
    nlohmann::json more{
        {"key", wanted.what.name.name()},
        {"holder", seen.holder ? nlohmann::json(seen.holder->node_info) : nlohmann::json()},
        {"next_seconds", seconds_of(seen.next_in)}};
    if (seen.holder) {
        more["held_seconds"] = seconds_of(seen.holder->held_for);
        more["metadata"] = seen.holder->metadata;
    }
    return failure{status, name_of(seen.refusal), message}.with(std::move(more));
}

// The command has ended. A record in an unknown state does not change the tool's status.
void report_unrecorded(const planned_call& wanted, const std::string& why) {
    report(
        wanted.what.is_json,
        "not_recorded",
        "the command has ended, but that could not be recorded for '" + wanted.what.name.name() +
            "', so that another host may run this tick again: " + why
    );
}

// `status` is the tool's own status, if the database takes the record.
int record(
    const planned_call& wanted,
    started& of,
    const run_result& result,
    int status,
    signal_inbox& signals
) {
    const auto work = [&](const std::stop_token&) {
        return of.answer->finish_and_end(*of.within, result);
    };
    const auto give_up = [&] {
        report_unrecorded(wanted, "the database does not answer");
        return status;
    };
    try {
        switch (finish(signals, wanted.what.timing.ttl, work, give_up)) {
            case finish_outcome::recorded:
                break;
            case finish_outcome::unknown:
                report_unrecorded(wanted, "the answer was lost");
                break;
            case finish_outcome::not_held:
                throw failure{
                    wanted.what.statuses.lost,
                    name_of(errc::lease_lost),
                    "the lease on '" + wanted.what.name.name() +
                        "' ended before the command did, and somebody else has started it since"};
        }
    } catch (const error& problem) {
        report_unrecorded(wanted, problem.what());
    }
    return status;
}

// This process's deadline comes before the database's, so nobody else can have started the tick
// again. A lease that was freed by force has not reached its limit, whatever the clock says.
bool has_reached_limit(const planned_call& wanted, const lease& held) {
    const loss_reason why = held.why_lost();
    const bool is_undisturbed = why == loss_reason::none || why == loss_reason::expired;
    return wanted.settings.fixed_term && is_undisturbed && !held.held_locally();
}

// A task that takes too long fails its tick, and is not repeated: it would take too long again.
int stop_at_limit(const planned_call& wanted, started& of, signal_inbox& signals) {
    const std::string limit = "--at-most " + shown(*wanted.settings.fixed_term);
    const run_result result{
        .has_succeeded = false, .message = "it took too long for " + limit + " and was stopped"};
    const int status = record(wanted, of, result, wanted.what.statuses.lost, signals);
    report(
        wanted.what.is_json,
        "time_limit",
        "'" + wanted.what.name.name() + "' took too long for " + limit +
            ": the command was stopped, and its tick has failed"
    );
    return status;
}

// The supervisor's margin must not be longer than the time between the run's deadline and its end.
session_settings timing_of(const planned_call& wanted, const session& within) {
    session_settings timing = within.settings();
    if (const auto term = wanted.settings.fixed_term) {
        const auto sixth = std::chrono::duration_cast<milliseconds>(*term / 6);
        timing.margin = std::min(*timing.margin, sixth);
    }
    return timing;
}

int run_started(
    const planned_call& wanted, const program& command, started& with, signal_inbox& signals
) {
    task_run& run = *with.answer;
    const lease& held = run.lease();
    std::optional<int> status;
    std::string words;  // the last line of its standard error
    {
        const session_settings timing = timing_of(wanted, *with.within);
        // A person at a terminal reads it there, and the command may want a terminal.
        std::optional<error_tee> tee;
        std::vector<std::pair<int, int>> streams;
        if (isatty(STDERR_FILENO) != 1) {
            streams.emplace_back(tee.emplace().writing_end(), STDERR_FILENO);
        }
        const std::vector<std::pair<std::string, std::string>> more{
            {"LEASEHOLD_TICK", shown(run.tick())}};
        status = run_under(wanted.what, command, timing, held, signals, more, streams).status;
        if (tee) words = last_line_of(tee->take_end());
    }
    if (status) {
        run_result result{.has_succeeded = *status == exit_status::done, .exit_status = *status};
        if (!result.has_succeeded) result.message = words;
        return record(wanted, with, result, *status, signals);
    }
    if (has_reached_limit(wanted, held)) return stop_at_limit(wanted, with, signals);
    const bool may_repeat = wanted.settings.repeat_abandoned;
    throw lost(
        wanted.what,
        held,
        may_repeat ? "the command was stopped, and another host may run this tick again"
                   : "the command was stopped"
    );
}

int run_attempted(
    const planned_call& wanted,
    const program& command,
    attempt_end& end,
    const database& db,
    signal_inbox& signals
) {
    if (end.cancelled_by != 0) return exit_status::by_signal + end.cancelled_by;
    try {
        if (!end.result->answer) {
            if (wanted.what.is_quiet) return wanted.what.statuses.busy;
            throw explain(signals, [&] {
                return refused(wanted, end.result->answer.outlook(), db);
            });
        }
        return run_started(wanted, command, *end.result, signals);
    } catch (const failure& failed) {
        report(wanted.what.is_json, failed);
        return failed.status();
    }
}

int run_once(const planned_call& wanted, const program& command, const database& db) {
    warn_where_orphans_escape(wanted.what.is_json);
    const unstalled_errors unstalled{wanted.what.is_json};
    signal_inbox signals;
    attempt_end end;
    try {
        end = outwait_outage(db, wanted, signals);
    } catch (const error& failed) {
        throw with_own_status(wanted.what, explain(signals, [&] {
                                  return explained(failed, db, wanted.what.name);
                              }));
    }
    const int status = run_attempted(wanted, command, end, db, signals);
    if (end.result && end.result->within) {
        constexpr std::chrono::seconds timeout{2};
        const auto work = [&](const std::stop_token&) {
            end.result.reset();
            return true;
        };
        finish(signals, timeout, work, [&] { return status; });
    }
    return status;
}

schedule schedule_of(const once_options& chosen) {
    if (chosen.per.empty() == chosen.cron.empty()) {
        throw usage_failure("say how often: either --per D or --cron EXPR");
    }
    if (!chosen.cron.empty()) {
        return schedule::cron(chosen.cron, chosen.zone.empty() ? "UTC" : chosen.zone);
    }
    if (!chosen.zone.empty()) {
        throw usage_failure("--tz goes with --cron: periods are counted in UTC");
    }
    return schedule::every(parse_duration(chosen.per, "--per"));
}

once_settings settings_of(const once_options& chosen) {
    once_settings settings;
    settings.hold_at_least = parse_duration(chosen.at_least, "--at-least");
    settings.max_early = parse_duration(chosen.early, "--early");
    settings.repeat_abandoned = !chosen.is_never_repeated;
    settings.metadata = chosen.note;
    if (!chosen.at_most.empty()) {
        settings.fixed_term = parse_duration(chosen.at_most, "--at-most");
        if (*settings.fixed_term < std::chrono::seconds{1}) {
            throw usage_failure("--at-most must be at least 1s");
        }
    }
    return settings;
}

constexpr const char* once_description =
    "Call this command on every host, from cron or a timer, as often as you like. CMD runs on\n"
    "one of them, once for each tick. The tick is the latest fire time by the database's\n"
    "clock; the clocks of hosts decide nothing. When CMD has ended, whatever its status, its\n"
    "tick is done, and later calls exit with 75. If the host dies before that, the next call\n"
    "runs the tick again, unless --no-repeat is given. A CMD that --at-most has stopped has\n"
    "failed, and its tick does not run again. Of the ticks for which nobody called in time,\n"
    "only the latest runs. On a host whose clock is ahead, by up to --early, a call waits for\n"
    "its tick.\n"
    "\n"
    "--per D fires at the multiples of D since 1970 in UTC: --per 1h at each full hour.\n"
    "--cron EXPR has five fields, minute hour day-of-month month day-of-week, or is one of\n"
    "@hourly @daily @weekly @monthly @yearly. Where the clocks of --tz change, a time of day\n"
    "that is skipped fires right after the gap, and one that comes twice fires the first\n"
    "time. An expression that leaves the hour open (`*`) goes by real time.\n"
    "\n"
    "CMD gets LEASEHOLD_TICK (the fire time, in UTC), LEASEHOLD_KEY, LEASEHOLD_TOKEN and\n"
    "LEASEHOLD_OWNER. While CMD runs, NAME is locked as by `leasehold lock NAME`. If that\n"
    "lease is lost, CMD is stopped as it is there; `lock --help` says what that cannot stop.\n"
    "`leasehold runs` shows what ran last, and how. For a CMD that failed it also shows the\n"
    "last line of CMD's standard error, unless that is a terminal.\n"
    "\n"
    "--dry-run changes nothing and runs nothing. It says whether this call would run CMD now\n"
    "(0) or not (75), for which tick, who ran the task last, and when the next tick is. CMD\n"
    "may be left out.\n";

constexpr const char* once_examples =
    "\n"
    "Examples:\n"
    "  leasehold once nightly --cron '30 2 * * *' --tz Europe/Berlin -- /usr/local/bin/nightly\n"
    "  leasehold once nightly --cron '30 2 * * *' --wait 2h -- /usr/local/bin/nightly\n"
    "  leasehold once digest --cron '0 9 * * MON-FRI' --quiet -- make digest\n"
    "  leasehold once purge --per 1h --at-least 10m -- purge --older-than 30d\n"
    "  leasehold once nightly --cron '30 2 * * *' --tz Europe/Berlin --dry-run\n"
    "  leasehold once charge --per 24h --no-repeat --at-most 2h -- charge-cards\n"
    "\n";

void add_options(CLI::App& parser, once_options& chosen) {
    const auto add = [&](const char* name, std::string& into, const char* help, const char* word) {
        parser.add_option(name, into, help)->option_text(word);
    };
    chosen.name.add(parser, "NAME", "Of the task: 1 to 255 bytes of UTF-8");
    add("--per", chosen.per, "One tick per D: 1s to 366d", "D");
    add("--cron", chosen.cron, "One tick per fire time of EXPR", "EXPR");
    add("--tz", chosen.zone, "The time zone of EXPR, like Europe/Berlin; default UTC", "ZONE");
    parser.get_option("--tz")->check(complaint_of_zone);
    add("--at-least", chosen.at_least, "No other start so soon after one: default 0", "D");
    add("--at-most",
        chosen.at_most,
        "Stop CMD after D, and free NAME only then if its host dies; default: see --ttl",
        "D");
    add("--ttl", chosen.ttl, "Free NAME so long after a crash: 1s to 24h; default 30s", "D");
    add("--early",
        chosen.early,
        "Called so shortly before a tick, wait for it: 0 to 1h; default 1m",
        "D");
    add("--wait", chosen.wait, "How long to wait for a database that is away; default 0", "D");
    parser.add_flag(
        "--no-repeat", chosen.is_never_repeated, "Never run a tick again, even if its host died"
    );
    add_note(parser, chosen.note);
    parser.add_flag("--quiet", chosen.is_quiet, "Say nothing where somebody else has run it");
    parser.add_flag("--dry-run", chosen.is_dry, "Only say whether it would run now, and why not");
    add_busy_status(parser, chosen.statuses);
    add_lost_status(parser, chosen.statuses);
    add_until_all_exit(parser, chosen.waits_for_all);
}

}  // namespace

command add_once(CLI::App& tool, const global_options& options, const arguments& given) {
    CLI::App* const parser =
        tool.add_subcommand("once", "Run a command once per tick, on one of many hosts");
    auto chosen = std::make_shared<once_options>();
    add_options(*parser, *chosen);
    parser->footer(
        std::string(once_description) + environment_help + once_examples + exit_status_help
    );
    const auto run = [chosen, &options, &given] {
        session_settings timing;
        timing.ttl = parse_duration(chosen->ttl, "--ttl");
        if (timing.ttl < std::chrono::seconds{1} || timing.ttl > std::chrono::hours{24}) {
            throw usage_failure("--ttl must be 1s to 24h");
        }
        planned_call wanted{
            {chosen->name.get(), parse_duration(chosen->wait, "--wait"), timing, options.is_json},
            schedule_of(*chosen),
            settings_of(*chosen)};
        chosen->apply_to(wanted.what);
        if (chosen->is_dry && given.command.empty())
            return say_forecast(open_database(options), wanted);
        require_command(given, "once NAME --per D");
        const program command = command_of(given, options);
        wanted.what.timing.name = command.name();
        if (chosen->is_dry) return say_forecast(open_database(options), wanted);
        const database db =
            open_database(options, std::chrono::seconds{5}, {}, wanted.what.timing.name);
        return run_once(wanted, command, db);
    };
    return {parser, run};
}

}  // namespace leasehold::cli
