// `leasehold schedule`: entries that enqueue jobs at their fire times.
#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/exit_status.hpp"
#include "cli/open.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/show/job_lines.hpp"
#include "leasehold/error.hpp"
#include "leasehold/job_schedule.hpp"

namespace leasehold::cli {
namespace {

using nlohmann::json;

struct schedule_options {
    job_schedule what;
    std::string per, cron, zone, payload;
    std::string misfire = "once";
    std::string late = "1m";
    std::string conflict = "keep";
    std::string until = "ended";
    std::string retry_delay = "5s";
    std::string attempt_timeout;
};

misfire_policy policy_of(const std::string& word) {
    if (word == "skip") return misfire_policy::skip;
    if (word == "once") return misfire_policy::fire_once;
    if (word == "catch-up") return misfire_policy::catch_up;
    throw usage_failure("--misfire is '" + word + "'; it must be skip, once or catch-up");
}

std::string times_of(const job_schedule& what) {
    if (what.every) return "every " + shown(*what.every);
    return what.cron + " (" + what.zone + ")";
}

json json_of_schedule(const job_schedule_info& schedule) {
    const job_schedule& what = schedule.what;
    const bool is_periodic = what.every.has_value();
    return {
        {"name", what.name},
        {"queue", what.queue},
        {"cron", is_periodic ? json() : json(what.cron)},
        {"zone", is_periodic ? json() : json(what.zone)},
        {"per_seconds", is_periodic ? json(seconds_of(*what.every)) : json()},
        {"misfire", name_of(what.misfire)},
        {"catch_up_max", what.max_catch_up},
        {"late_max_seconds", what.max_late.count()},
        {"paused", schedule.is_paused},
        {"next", shown(schedule.next)},
        {"next_in_seconds", seconds_of(schedule.next_in)},
        {"overdue_seconds", seconds_of(schedule.overdue_for)},
        {"last", schedule.last ? json(shown(*schedule.last)) : json()},
        {"last_job", schedule.last_job ? json(*schedule.last_job) : json()},
        {"kind", what.job.kind},
        {"payload", what.job.payload},
        {"priority", what.job.priority},
        {"unique_key", what.job.unique_key},
        {"unique_until", what.job.unique == unique_until::started ? "started" : "ended"},
        {"ordering_key", what.job.ordering_key},
        {"attempts_max", what.job.retry.max_attempts}};
}

[[noreturn]] void refuse_unknown(const std::string& name) {
    throw failure{
        exit_status::failed,
        "not_found",
        "there is no schedule '" + printable(name) + "'; see `leasehold schedule list`"};
}

// Lateness alone is no reason for an alarm: the next worker follows the schedule's policy.
std::string next_of(const job_schedule_info& schedule) {
    if (schedule.is_paused) return "paused";
    if (schedule.overdue_for > std::chrono::seconds{0}) {
        return "due for " + shown(schedule.overdue_for);
    }
    return "in " + shown(schedule.next_in);
}

int add(schedule_options& chosen, const global_options& options) {
    job_schedule& what = chosen.what;
    if (chosen.per.empty() == chosen.cron.empty()) {
        throw usage_failure("say when: either --per D or --cron EXPR");
    }
    if (!chosen.per.empty() && !chosen.zone.empty()) {
        throw usage_failure("--tz goes with --cron: periods are counted in UTC");
    }
    if (!chosen.per.empty()) what.every = parse_duration(chosen.per, "--per");
    what.cron = chosen.cron;
    if (!chosen.zone.empty()) what.zone = chosen.zone;
    what.misfire = policy_of(chosen.misfire);
    what.max_late = parse_seconds(chosen.late, "--late");
    what.job.payload = payload_of(chosen.payload);
    what.job.conflict = conflict_of(chosen.conflict);
    what.job.unique = unique_until_of(chosen.until);
    what.job.retry.delay = parse_duration(chosen.retry_delay, "--retry-delay");
    what.job.retry.max_delay = std::max(what.job.retry.max_delay, what.job.retry.delay);
    if (!chosen.attempt_timeout.empty()) {
        what.job.attempt_timeout = parse_duration(chosen.attempt_timeout, "--time-limit");
    }
    const database db = open_database(options);
    const bool has_changed = set_job_schedule(db, what);
    const auto now = find_job_schedule(db, what.name);
    json fields = now ? json_of_schedule(*now) : json{{"name", what.name}};
    fields["changed"] = has_changed;
    std::string said = "schedule '" + printable(what.name) + "' ";
    said += has_changed ? "is set" : "was set already";
    if (now) said += "; next: " + shown(now->next) + " (" + next_of(*now) + ")";
    print_result(options.is_json, fields, said);
    return exit_status::done;
}

std::vector<schedule::instant> coming(const job_schedule_info& of, int count) {
    std::vector<schedule::instant> times;
    if (of.is_paused) return times;
    const auto when = of.what.every ? schedule::every(*of.what.every)
                                    : schedule::cron(of.what.cron, of.what.zone);
    for (auto at = of.next; std::ssize(times) < count; at = when.next(at)) times.push_back(at);
    return times;
}

// One whose zone this host does not know says so, beside the others.
int list_times(int count, const global_options& options) {
    table times{{"NAME", "QUEUE", "FIRES"}};
    for (const job_schedule_info& each : list_job_schedules(open_database(options))) {
        json said = {
            {"name", each.what.name}, {"queue", each.what.queue}, {"fires", json::array()}};
        const auto add = [&](const std::string& when, style look) {
            times.add({{printable(each.what.name)}, {printable(each.what.queue)}, {when, look}});
        };
        try {
            for (const schedule::instant at : coming(each, count)) {
                said["fires"].push_back(shown(at));
                add(shown(at), style::plain);
            }
        } catch (const error& failed) {
            said["error"] = failed.what();
            add(printable(failed.what()), style::red);
        }
        if (each.is_paused) add("paused", style::plain);
        if (options.is_json) print_json(said);
    }
    if (!options.is_json) times.print();
    return exit_status::done;
}

int list(const global_options& options) {
    table schedules{{"NAME", "QUEUE", "KIND", "TIMES", "NEXT", "LAST", "JOB"}};
    for (const job_schedule_info& each : list_job_schedules(open_database(options))) {
        if (options.is_json) print_json(json_of_schedule(each));
        const bool is_late = each.overdue_for > each.what.max_late;
        schedules.add({
            {printable(each.what.name)},
            {printable(each.what.queue)},
            {printable(each.what.job.kind)},
            {printable(times_of(each.what))},
            {next_of(each), is_late ? style::red : style::plain},
            {each.last ? shown(*each.last) : "-"},
            {each.last_job ? std::to_string(*each.last_job) : "-"},
        });
    }
    if (!options.is_json) schedules.print();
    return exit_status::done;
}

int run_now(const std::string& name, const global_options& options) {
    const auto made = run_job_schedule(open_database(options), name);
    if (!made) refuse_unknown(name);
    const std::string job = "job " + std::to_string(made->id);
    print_result(
        options.is_json,
        {{"name", name}, {"job", made->id}, {"new", made->is_new}},
        job + (made->is_new ? " is enqueued" : " of the same unique key is there already")
    );
    return exit_status::done;
}

enum class change { remove, pause, resume };

int apply(
    change what, const std::string& name, const std::string& length, const global_options& options
) {
    const auto pause = [&](const database& db) {
        if (length.empty()) return pause_job_schedule(db, name);
        return pause_job_schedule_for(db, name, parse_duration(length, "--for"));
    };
    const database db = open_database(options);
    const bool is_found = what == change::remove  ? remove_job_schedule(db, name)
                          : what == change::pause ? pause(db)
                                                  : resume_job_schedule(db, name);
    if (!is_found) refuse_unknown(name);
    if (options.is_json) {
        const auto now = find_job_schedule(db, name);
        print_json(now ? json_of_schedule(*now) : json{{"name", name}, {"removed", true}});
        return exit_status::done;
    }
    std::string said = "schedule '" + printable(name) + "' ";
    if (what == change::remove) said += "is removed; the jobs it has enqueued stay";
    if (what == change::pause) said += length.empty() ? "is paused" : "is paused for " + length;
    if (what == change::resume) said += "goes on with its next fire time";
    print_line(said);
    return exit_status::done;
}

void add_options(CLI::App& parser, schedule_options& chosen) {
    new_job& job = chosen.what.job;
    const auto text = [&](const char* name, std::string& into, const char* help, const char* word) {
        parser.add_option(name, into, help)->option_text(word);
    };
    parser.add_option("NAME", chosen.what.name, "Of the schedule")->required();
    parser.add_option("PAYLOAD", chosen.payload, "Of each job; -: from stdin; see {fire_time}");
    parser.add_option("--queue", chosen.what.queue, "In which queue its jobs are enqueued")
        ->option_text("Q")
        ->required();
    text("--per", chosen.per, "A fire time per D: 1s to 366d", "D");
    text("--cron", chosen.cron, "The fire times of EXPR", "EXPR");
    text("--tz", chosen.zone, "The time zone of EXPR, like Europe/Berlin; default UTC", "ZONE");
    parser.get_option("--tz")->check(complaint_of_zone);
    text("--misfire", chosen.misfire, "Of what was missed: once (default), skip, catch-up", "M");
    parser.add_option("--catch-up", chosen.what.max_catch_up, "With catch-up: the latest N; 10")
        ->option_text("N");
    text("--late", chosen.late, "A fire time is missed after D; default 1m", "D");
    text("--kind", job.kind, "What kind of job it is", "K");
    parser.add_option("--priority", job.priority, "The smallest first; default 0")
        ->option_text("N");
    text("--unique-key", job.unique_key, "At most one such job at a time; else one per time", "U");
    text("--on-conflict", chosen.conflict, "Where there is one: keep (default) or replace", "C");
    text("--unique-until", chosen.until, "How long it is unique: ended (default) or started", "W");
    text("--ordering-key", job.ordering_key, "After others of the same key, in order", "O");
    parser.add_option("--attempts", job.retry.max_attempts, "Attempts in all; default 20")
        ->option_text("N");
    text("--retry-delay", chosen.retry_delay, "Before the second; then doubled; 5s", "D");
    text("--time-limit", chosen.attempt_timeout, "Of one attempt; default none", "D");
    const auto only = [&](const char* option, std::vector<std::string> words) {
        parser.get_option(option)->check(CLI::IsMember(std::move(words)));
    };
    only("--misfire", {"skip", "once", "catch-up"});
    only("--on-conflict", {"keep", "replace"});
    only("--unique-until", {"ended", "started"});
}

constexpr const char* schedule_help =
    "Each fire time enqueues one job in the whole cluster, by whichever worker of the queue\n"
    "looks first (`leasehold work --queue Q`). No other program is needed, and without a\n"
    "worker nothing fires. `add` may be called again and again: what is the same stays as it\n"
    "is.\n"
    "\n"
    "--misfire says what becomes of fire times at which no worker ran, for longer than\n"
    "--late. once: one job for all; skip: none; catch-up: one each, of the latest --catch-up.\n"
    "\n"
    "{fire_time} in PAYLOAD is replaced by the time: 2026-11-25T01:30:00Z. --cron has the\n"
    "form of that of `leasehold once`. With --unique-key U nothing is enqueued while the job\n"
    "before has not ended.\n"
    "\n"
    "Examples:\n"
    "  leasehold schedule add nightly --queue reports --cron '30 2 * * *' --tz Europe/Berlin\n"
    "  leasehold schedule add sync --queue sync --per 5m --unique-key sync 'at {fire_time}'\n"
    "  leasehold schedule list --next 10\n"
    "  leasehold schedule run nightly\n"
    "  leasehold schedule pause nightly --for 7d\n"
    "  leasehold schedule remove nightly\n"
    "\n"
    "Exit status: 0; 70 if there is no such schedule; otherwise see `leasehold --help`.\n";

}  // namespace

command add_schedule(CLI::App& tool, const global_options& options) {
    CLI::App* const parser =
        tool.add_subcommand("schedule", "Enqueue jobs by the clock: cron, once in the cluster");
    parser->require_subcommand(1);
    parser->footer(schedule_help);
    auto chosen = std::make_shared<schedule_options>();
    auto name = std::make_shared<std::string>();
    CLI::App* const adding = parser->add_subcommand("add", "Set a schedule, or change it");
    add_options(*adding, *chosen);
    CLI::App* const listing = parser->add_subcommand("list", "List them by their names");
    auto count = std::make_shared<int>(0);
    constexpr int most_times = 1000;
    listing->add_option("--next", *count, "The next N fire times of each, until 1000")
        ->option_text("N")
        ->check(CLI::Range(1, most_times));
    CLI::App* const running = parser->add_subcommand("run", "Enqueue the job of one now");
    CLI::App* const removing = parser->add_subcommand("remove", "Remove one");
    CLI::App* const pausing = parser->add_subcommand("pause", "Let one not fire");
    CLI::App* const resuming = parser->add_subcommand("resume", "Let it fire again");
    auto length = std::make_shared<std::string>();
    pausing->add_option("--for", *length, "It fires again after D: 1s to 366d")->option_text("D");
    for (CLI::App* const each : {running, removing, pausing, resuming}) {
        each->add_option("NAME", *name, "The schedule")->required();
    }
    for (CLI::App* const each : {adding, listing, running, removing, pausing, resuming}) {
        each->fallthrough()->footer(schedule_help);
    }
    return {parser, [=, &options] {
                if (adding->parsed()) return add(*chosen, options);
                if (running->parsed()) return run_now(*name, options);
                if (removing->parsed()) return apply(change::remove, *name, "", options);
                if (pausing->parsed()) return apply(change::pause, *name, *length, options);
                if (resuming->parsed()) return apply(change::resume, *name, "", options);
                return *count > 0 ? list_times(*count, options) : list(options);
            }};
}

}  // namespace leasehold::cli
