// `leasehold job`: enqueue, list, show, change, retry, cancel, delete.
#include <CLI/CLI.hpp>
#include <atomic>
#include <fstream>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/exit_status.hpp"
#include "cli/open.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/show/job_lines.hpp"
#include "cli/show/job_list.hpp"
#include "cli/ticking_line.hpp"
#include "leasehold/error.hpp"
#include "leasehold/job_queue.hpp"

namespace leasehold::cli {
namespace {

struct enqueue_options {
    std::string queue;
    std::string file;
    std::string payload;
    std::string delay = "0";
    std::string run_at;
    std::string attempt_timeout;
    std::string retry_delay = "5s";
    std::string conflict = "keep";
    std::string until = "ended";
    new_job what;
};

void tell(const enqueued_job& made, bool is_json) {
    std::string said = std::to_string(made.id);
    if (!made.is_new) said += " was there already";
    if (made.is_running) said += ", and runs: nothing was enqueued";
    print_result(
        is_json, {{"id", made.id}, {"new", made.is_new}, {"running", made.is_running}}, said
    );
}

std::vector<new_job> jobs_of(const enqueue_options& chosen) {
    if (chosen.file == "-") return jobs_in(std::cin, chosen.what, "standard input");
    std::ifstream file{chosen.file};
    if (!file) {
        throw failure{
            exit_status::usage,
            name_of(errc::invalid_argument),
            "the file " + chosen.file + " cannot be read: name another, or - for standard input"};
    }
    return jobs_in(file, chosen.what, chosen.file);
}

// The progress, for another thread to show.
struct enqueued_so_far {
    std::atomic<std::size_t> of = 0;  // 0: the lines are still being read
    std::atomic<std::size_t> sent = 0;
};

// Enqueues all lines or none: reads all before it sends any, and sends them in one transaction.
std::vector<enqueued_job> enqueue_lines(
    const enqueue_options& chosen, const global_options& options, enqueued_so_far& so_far
) {
    const std::vector<new_job> jobs = jobs_of(chosen);
    // Jobs that need each other by their places in the list are one part.
    const bool is_one = std::ranges::any_of(jobs, [](const new_job& each) {
        return !each.depends_on_listed.empty();
    });
    const std::ptrdiff_t max_part = is_one ? std::ssize(jobs) : 1000;
    so_far.of = jobs.size();
    const database db = open_database(options, std::chrono::seconds{60});
    const job_queue queue{db, chosen.queue};
    std::vector<enqueued_job> made;
    transaction tx = db.begin();
    for (auto first = jobs.begin(); first != jobs.end();) {
        const auto last = first + std::min(max_part, jobs.end() - first);
        const auto part = queue.enqueue_many_in(tx, {first, last});
        made.insert(made.end(), part.begin(), part.end());
        so_far.sent = made.size();
        first = last;
    }
    tx.commit();
    return made;
}

int enqueue_file(const enqueue_options& chosen, const global_options& options) {
    enqueued_so_far so_far;
    const auto words = [&] {
        const std::size_t of = so_far.of;
        if (of == 0) return "reading " + chosen.file;
        return "enqueued " + std::to_string(so_far.sent) + " of " + std::to_string(of) + " jobs";
    };
    const auto work = [&](const std::stop_token&) {
        return enqueue_lines(chosen, options, so_far);
    };
    const auto made = with_progress<std::vector<enqueued_job>>(work, words, options.is_json);
    if (options.is_json) {
        for (const enqueued_job& each : made) tell(each, true);
        return exit_status::done;
    }
    const auto is_new = [](const enqueued_job& each) { return each.is_new; };
    const auto count = std::count_if(made.begin(), made.end(), is_new);
    std::string said = "enqueued " + std::to_string(count) + " jobs";
    const auto kept = std::ssize(made) - count;
    if (kept > 0) said += "; " + std::to_string(kept) + " were there already";
    const auto stay = std::ranges::count_if(made, &enqueued_job::is_running);
    if (stay > 0) said += ", of which " + std::to_string(stay) + " run and stay as they are";
    print_line(said);
    return exit_status::done;
}

int enqueue(enqueue_options& chosen, bool has_payload, const global_options& options) {
    new_job& what = chosen.what;
    what.delay = parse_duration(chosen.delay, "--delay");
    what.retry.delay = parse_duration(chosen.retry_delay, "--retry-delay");
    what.retry.max_delay = std::max(what.retry.max_delay, what.retry.delay);
    if (!chosen.run_at.empty()) what.run_at = parse_instant(chosen.run_at, "--run-at");
    if (!chosen.attempt_timeout.empty()) {
        what.attempt_timeout = parse_duration(chosen.attempt_timeout, "--time-limit");
    }
    what.conflict = conflict_of(chosen.conflict);
    what.unique = unique_until_of(chosen.until);
    if (!chosen.file.empty()) {
        if (has_payload) throw usage_failure("say PAYLOAD or --file, not both");
        return enqueue_file(chosen, options);
    }
    if (!has_payload) {
        throw usage_failure(
            "there is no payload: give it as a word, as - to read it from standard input, or "
            "many with --file"
        );
    }
    what.payload = payload_of(chosen.payload);
    const job_queue queue{open_database(options), chosen.queue};
    tell(queue.enqueue(what), options.is_json);
    return exit_status::done;
}

[[noreturn]] void refuse_unknown(job_id id) {
    throw failure{
        exit_status::failed,
        "not_found",
        "there is no job " + std::to_string(id) +
            ": it was never enqueued, or has ended and is not kept; see `leasehold job list`"};
}

int show(job_id id, const global_options& options) {
    const auto found = find_job(open_database(options), id);
    if (!found) refuse_unknown(id);
    print_job(*found, options.is_json);
    return exit_status::done;
}

job_change retried(const database& db, job_id id) {
    const retry_outcome outcome = retry_job(db, id);
    if (outcome == retry_outcome::not_found) return {name_of(outcome), "", false, false};
    job_change said{name_of(outcome), "is available", true};
    if (outcome == retry_outcome::redriven) said.sentence = "begins again";
    if (outcome == retry_outcome::running) said = {said.word, "runs already"};
    if (outcome == retry_outcome::duplicate) {
        said = {said.word, "stays as it is: another one has its unique key now"};
    }
    return said;
}

job_change cancelled(const database& db, job_id id) {
    const cancel_outcome outcome = cancel_job(db, id);
    if (outcome == cancel_outcome::not_found) return {name_of(outcome), "", false, false};
    job_change said{name_of(outcome), "is cancelled", true};
    if (outcome == cancel_outcome::requested) said.sentence = "runs, and was asked to stop";
    if (outcome == cancel_outcome::ended) said = {said.word, "has ended before"};
    return said;
}

job_change deleted(const database& db, job_id id) {
    const delete_outcome outcome = delete_job(db, id);
    job_change said{name_of(outcome), "is deleted", true};
    if (outcome == delete_outcome::not_found) said.sentence = "is not there";
    if (outcome == delete_outcome::not_ended) {
        said = {said.word, "stays: it has not ended; cancel it first"};
    }
    if (outcome == delete_outcome::needed) said = {said.word, "stays: another job waits for it"};
    return said;
}

int change_each(
    const std::vector<job_id>& ids, const global_options& options, const bulk_change& how
) {
    const database db = open_database(options);
    int status = exit_status::done;
    for (const job_id id : ids) {
        const job_change made = how.change(db, id);
        if (!made.is_there) refuse_unknown(id);
        if (how.must_be_done && !made.is_done) status = exit_status::failed;
        print_result(
            options.is_json,
            {{"id", id}, {"outcome", made.word}},
            "job " + std::to_string(id) + " " + made.sentence
        );
    }
    return status;
}

struct change_options {
    job_id id = 0;
    std::string payload;
    std::string kind;
    int priority = 0;
    std::string delay;
    std::string run_at;
};

void add_change_options(CLI::App& parser, change_options& chosen) {
    parser.add_option("ID", chosen.id, "The job's number")->required();
    parser.add_option("PAYLOAD", chosen.payload, "What it is about from now on; -: from stdin");
    parser.add_option("--kind", chosen.kind, "What kind of job it is")->option_text("K");
    parser.add_option("--priority", chosen.priority, "The smallest first")->option_text("N");
    parser.add_option("--delay", chosen.delay, "Not before so long from now; 0: now")
        ->option_text("D");
    parser.add_option("--run-at", chosen.run_at, "Not before: 2026-12-24T18:00:00Z")
        ->option_text("T")
        ->excludes("--delay");
}

int change(const change_options& chosen, const CLI::App& parser, const global_options& options) {
    job_changes what;
    if (parser.count("PAYLOAD") > 0) what.payload = payload_of(chosen.payload);
    if (parser.count("--kind") > 0) what.kind = chosen.kind;
    if (parser.count("--priority") > 0) what.priority = chosen.priority;
    if (parser.count("--delay") > 0) what.delay = parse_duration(chosen.delay, "--delay");
    if (parser.count("--run-at") > 0) what.run_at = parse_instant(chosen.run_at, "--run-at");
    const auto outcome = change_job(open_database(options), chosen.id, what);
    if (outcome == job_change_outcome::not_found) refuse_unknown(chosen.id);
    const char* said = "is changed";
    if (outcome == job_change_outcome::running) said = "runs, and stays as it is";
    if (outcome == job_change_outcome::ended) said = "has ended, and stays as it is";
    if (outcome == job_change_outcome::waits) {
        said = "waits for other jobs, and has no time: it stays as it is";
    }
    print_result(
        options.is_json,
        {{"id", chosen.id}, {"outcome", name_of(outcome)}},
        "job " + std::to_string(chosen.id) + " " + said
    );
    return outcome == job_change_outcome::changed ? exit_status::done : exit_status::failed;
}

void add_enqueue_options(CLI::App& parser, enqueue_options& chosen) {
    new_job& what = chosen.what;
    parser.add_option("--queue", chosen.queue, "In which queue")->option_text("Q")->required();
    parser.add_option("--kind", what.kind, "What kind of job it is")->option_text("K");
    parser.add_option("--priority", what.priority, "The smallest first; default 0")
        ->option_text("N");
    parser.add_option("--delay", chosen.delay, "Not before so long from now")->option_text("D");
    parser.add_option("--run-at", chosen.run_at, "Not before: 2026-12-24T18:00:00Z")
        ->option_text("T")
        ->excludes("--delay");
    parser.add_option("--unique-key", what.unique_key, "At most one such job at a time")
        ->option_text("U");
    parser
        .add_option(
            "--on-conflict", chosen.conflict, "Where there is one: keep (default), replace or fail"
        )
        ->option_text("C")
        ->check(CLI::IsMember(std::vector<std::string>{"keep", "replace", "fail"}));
    parser
        .add_option(
            "--unique-until", chosen.until, "How long it is unique: ended (default) or started"
        )
        ->option_text("W")
        ->check(CLI::IsMember(std::vector<std::string>{"ended", "started"}));
    parser
        .add_option("--ordering-key", what.ordering_key, "After others of the same key, in order")
        ->option_text("O");
    parser
        .add_option("--needs", what.depends_on, "Not before job ID has completed; may be repeated")
        ->option_text("ID")
        ->allow_extra_args(false);
    parser.add_option("--attempts", what.retry.max_attempts, "Attempts in all; default 20")
        ->option_text("N");
    parser.add_option("--retry-delay", chosen.retry_delay, "Before the second; then doubled; 5s")
        ->option_text("D");
    parser.add_option("--time-limit", chosen.attempt_timeout, "Of one attempt; default none")
        ->option_text("D");
    parser.add_option("--traceparent", what.traceparent, "Of W3C Trace Context, for its handler")
        ->option_text("T");
    parser.add_option("--file", chosen.file, "One JSON object per line: see below")
        ->option_text("F");
}

constexpr const char* job_help =
    "--file F: each line is an object with payload, and optionally kind, priority, run_at,\n"
    "delay, unique_key, unique_until, ordering_key, attempts_max, traceparent; the options\n"
    "say what a line leaves out. A payload that is a JSON string is delivered as its text,\n"
    "any other value as it is written. All lines are enqueued or none. --file - reads\n"
    "standard input. Other lines can need a line that has a name: needs is an array of names,\n"
    "and of numbers of jobs, which have to complete first; with needs_until \"ended\" it is\n"
    "enough that they end.\n"
    "\n"
    "States: scheduled, available, blocked (behind others of its ordering key, or by those\n"
    "that it needs), running, retryable; completed, discarded and cancelled for as long as\n"
    "the queue keeps such jobs.\n"
    "\n"
    "If options choose the jobs, and --state is not one of them, retry takes those that have\n"
    "failed (retryable, discarded), cancel those that have not ended, and delete those that\n"
    "have. delete leaves a job for which another one waits. --since 30d chooses jobs of the\n"
    "last 30 days, not older ones.\n"
    "\n"
    "Examples:\n"
    "  leasehold job enqueue --queue mail --kind welcome '{\"to\":\"ada@example.org\"}'\n"
    "  leasehold job enqueue --queue reports --unique-key 2026-11 --delay 10m - <report.json\n"
    "  leasehold job enqueue --queue images --file pictures.jsonl\n"
    "  leasehold job list --queue mail --state discarded --since 1d\n"
    "  leasehold job change 4711 --delay 2h --priority 10\n"
    "  leasehold job retry 4711\n"
    "  leasehold job retry --queue mail --state discarded --error 'timed out' --yes\n"
    "  leasehold job delete --queue mail --error ada@example.org\n"
    "  leasehold --json job show 4711 | jq -r .error\n"
    "\n"
    "Exit status: 0; 70 if there is no such job, or if a job that was to be changed or\n"
    "deleted stays; otherwise see `leasehold --help`.\n";

// Jobs by their numbers, or all that the options choose.
void add_ids_or_choice(CLI::App& parser, std::vector<job_id>& ids, chosen_jobs& chosen) {
    parser.add_option("ID", ids, "The jobs' numbers");
    add_choice(parser, chosen);
    parser.add_flag("--yes", chosen.is_sure, "Change those chosen; without it, they are counted");
}

int change_jobs(
    const std::vector<job_id>& ids,
    const chosen_jobs& chosen,
    const global_options& options,
    const bulk_change& how
) {
    if (!ids.empty() && chosen.is_any()) {
        throw usage_failure("say which jobs by their numbers, or by options: not both");
    }
    if (!ids.empty()) return change_each(ids, options, how);
    if (chosen.is_any()) return change_chosen(chosen, options, how);
    throw usage_failure("say which jobs: by their numbers, or by --queue, --state and the like");
}

bulk_change retry() {
    return {"retried", {job_state::retryable, job_state::discarded}, retried};
}

bulk_change cancellation() {
    const std::vector unended{
        job_state::scheduled,
        job_state::available,
        job_state::blocked,
        job_state::running,
        job_state::retryable};
    return {"cancelled", unended, cancelled};
}

bulk_change deletion() {
    return {
        "deleted",
        {job_state::completed, job_state::discarded, job_state::cancelled},
        deleted,
        true};
}

}  // namespace

command add_job(CLI::App& tool, const global_options& options) {
    CLI::App* const parser =
        tool.add_subcommand("job", "Enqueue, list, show, change, retry, cancel, delete jobs");
    parser->require_subcommand(1);
    parser->footer(job_help);
    auto chosen = std::make_shared<enqueue_options>();
    auto some = std::make_shared<chosen_jobs>();
    auto ids = std::make_shared<std::vector<job_id>>();
    CLI::App* const enqueuing = parser->add_subcommand("enqueue", "Enqueue one job, or a file");
    add_enqueue_options(*enqueuing, *chosen);
    CLI::Option* const payload =
        enqueuing->add_option("PAYLOAD", chosen->payload, "What the job is about; -: from stdin");
    CLI::App* const listing = parser->add_subcommand("list", "List jobs, the newest first");
    add_choice(*listing, *some);
    listing->add_flag("--oldest", some->is_oldest, "The oldest first");
    listing->add_option("--after", some->after, "Those behind this one: the next page")
        ->option_text("ID");
    listing->add_option("--limit", some->filter.limit, "At most so many; default 100")
        ->option_text("N");
    CLI::App* const showing = parser->add_subcommand("show", "Show all of one job");
    auto changes = std::make_shared<change_options>();
    CLI::App* const changing =
        parser->add_subcommand("change", "Change a job that waits for its start or next attempt");
    add_change_options(*changing, *changes);
    CLI::App* const retrying =
        parser->add_subcommand("retry", "Let jobs run now, or begin again where they have ended");
    CLI::App* const cancelling =
        parser->add_subcommand("cancel", "Cancel jobs; those that run are asked to stop");
    CLI::App* const deleting =
        parser->add_subcommand("delete", "Delete ended jobs for good, with their payloads");
    showing->add_option("ID", *ids, "The job's number")->required();
    for (CLI::App* const each : {retrying, cancelling, deleting}) {
        add_ids_or_choice(*each, *ids, *some);
    }
    for (CLI::App* const each :
         {enqueuing, listing, showing, changing, retrying, cancelling, deleting}) {
        each->fallthrough()->footer(job_help);
    }
    return {parser, [=, &options] {
                if (enqueuing->parsed()) return enqueue(*chosen, payload->count() > 0, options);
                if (changing->parsed()) return change(*changes, *changing, options);
                if (retrying->parsed()) return change_jobs(*ids, *some, options, retry());
                if (cancelling->parsed()) return change_jobs(*ids, *some, options, cancellation());
                if (deleting->parsed()) return change_jobs(*ids, *some, options, deletion());
                if (showing->parsed()) {
                    if (ids->size() != 1) throw usage_failure("`job show` takes one number");
                    return show(ids->front(), options);
                }
                return list_chosen(*some, options);
            }};
}

}  // namespace leasehold::cli
