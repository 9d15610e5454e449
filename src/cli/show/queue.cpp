// `leasehold queue`: the jobs in the queues, and their limits.
#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/exit_status.hpp"
#include "cli/open.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/show/described.hpp"
#include "leasehold/job_queue.hpp"

namespace leasehold::cli {
namespace {

using nlohmann::json;

struct limit_options {
    std::string name;
    int max_running = 0;
    int max_running_per_key = 0;
    int max_starts = 0;
    std::string starts_per, keep_completed, keep_discarded, keep_cancelled;
};

json json_of_queue(const queue_info& queue) {
    json jobs = json::object();
    for (const job_state each : states_shown) jobs[name_of(each)] = count_in(queue.jobs, each);
    const auto number = [](const std::optional<int>& given) {
        return given ? json(*given) : json();
    };
    const queue_limits& limits = queue.limits;
    return {
        {"queue", queue.name},
        {"paused", queue.is_paused},
        {"jobs", jobs},
        {"oldest_available_seconds",
         queue.oldest_available ? json(seconds_of(*queue.oldest_available)) : json()},
        {"running_max", number(limits.max_running)},
        {"running_per_key_max", limits.max_running_per_key},
        {"starts_max", number(limits.max_starts)},
        {"starts_per_seconds", seconds_of(limits.starts_per)},
        {"keep_completed_seconds", limits.keep_completed.count()},
        {"keep_discarded_seconds", limits.keep_discarded.count()},
        {"keep_cancelled_seconds", limits.keep_cancelled.count()}};
}

int show(const std::vector<queue_info>& queues, bool is_json) {
    std::vector<std::string> heading{"QUEUE"};
    for (const job_state each : states_shown) {
        std::string word = name_of(each);
        for (char& letter : word) letter = static_cast<char>(std::toupper(letter));
        heading.push_back(word);
    }
    heading.emplace_back("OLDEST");
    table all{heading};
    for (const queue_info& each : queues) {
        if (is_json) print_json(json_of_queue(each));
        std::vector<cell> cells{{printable(each.name) + (each.is_paused ? " (paused)" : "")}};
        for (const job_state state : states_shown) {
            const std::int64_t count = count_in(each.jobs, state);
            const bool is_bad = state == job_state::discarded && count > 0;
            cells.push_back({std::to_string(count), is_bad ? style::red : style::plain});
        }
        cells.push_back({each.oldest_available ? shown(*each.oldest_available) : "-"});
        all.add(std::move(cells));
    }
    if (!is_json) all.print();
    return exit_status::done;
}

int set_paused(const std::string& name, bool is_paused, const global_options& options) {
    const job_queue queue{open_database(options), name};
    is_paused ? queue.pause() : queue.resume();
    print_result(
        options.is_json,
        {{"queue", name}, {"paused", is_paused}},
        "queue '" + printable(name) +
            (is_paused ? "' is paused: what runs goes on, nothing else starts" : "' goes on")
    );
    return exit_status::done;
}

// The limits in the words of a sentence.
std::string shown_limits(const queue_limits& limits) {
    const auto at_most = [](const std::optional<int>& number) {
        return number ? "at most " + std::to_string(*number) : std::string{"any number"};
    };
    std::string text = at_most(limits.max_running) + " may run at a time, " +
                       std::to_string(limits.max_running_per_key) + " of each ordering key; " +
                       at_most(limits.max_starts) + " may start";
    if (limits.max_starts) text += " in each " + shown(limits.starts_per);
    return text + "; completed jobs are kept for " + shown(limits.keep_completed) +
           ", discarded ones for " + shown(limits.keep_discarded) + ", cancelled ones for " +
           shown(limits.keep_cancelled);
}

// Sets the named limits; 0 removes one. If no limit is named, it shows the limits.
int set_limits(const limit_options& chosen, const CLI::App& parser, const global_options& options) {
    const job_queue queue{open_database(options), chosen.name};
    queue_limits limits = queue.describe().limits;
    const auto is_said = [&](const char* option) { return parser.count(option) > 0; };
    const auto number = [](int given) { return given == 0 ? std::nullopt : std::optional{given}; };
    if (is_said("--running")) limits.max_running = number(chosen.max_running);
    if (is_said("--per-key")) limits.max_running_per_key = chosen.max_running_per_key;
    if (is_said("--starts")) limits.max_starts = number(chosen.max_starts);
    if (is_said("--per")) limits.starts_per = parse_duration(chosen.starts_per, "--per");
    if (is_said("--keep-completed")) {
        limits.keep_completed = parse_seconds(chosen.keep_completed, "--keep-completed");
    }
    if (is_said("--keep-discarded")) {
        limits.keep_discarded = parse_seconds(chosen.keep_discarded, "--keep-discarded");
    }
    if (is_said("--keep-cancelled")) {
        limits.keep_cancelled = parse_seconds(chosen.keep_cancelled, "--keep-cancelled");
    }
    const auto named = parser.get_options([](const CLI::Option* each) {
        return !each->get_positional() && each->count() > 0;
    });
    if (!named.empty()) queue.set_limits(limits);
    if (options.is_json) {
        print_json(json_of_queue(queue.describe()));
    } else {
        print_line("queue '" + printable(chosen.name) + "': " + shown_limits(limits));
    }
    return exit_status::done;
}

void add_limits(CLI::App& parser, limit_options& chosen) {
    parser.add_option("NAME", chosen.name, "The queue")->required();
    parser.add_option("--running", chosen.max_running, "At most N run at a time; 0: no limit")
        ->option_text("N")
        ->check(CLI::Range(0, 1'000'000));
    parser.add_option("--per-key", chosen.max_running_per_key, "The same of each ordering key")
        ->option_text("N");
    parser.add_option("--starts", chosen.max_starts, "At most N start in each --per; 0: no limit")
        ->option_text("N")
        ->check(CLI::Range(0, 1'000'000));
    parser.add_option("--per", chosen.starts_per, "Of --starts; default 1s")->option_text("D");
    parser
        .add_option("--keep-completed", chosen.keep_completed, "How long completed jobs are listed")
        ->option_text("D");
    parser.add_option("--keep-discarded", chosen.keep_discarded, "The same of discarded ones")
        ->option_text("D");
    parser.add_option("--keep-cancelled", chosen.keep_cancelled, "The same of cancelled ones")
        ->option_text("D");
}

constexpr const char* queue_help =
    "A queue is there from its first job, worker or setting on. Counting reads all its jobs.\n"
    "\n"
    "Examples:\n"
    "  leasehold queue\n"
    "  leasehold queue pause mail\n"
    "  leasehold queue limit images --running 4\n"
    "  leasehold queue limit images\n"
    "  leasehold queue limit calls --starts 10 --per 1m --keep-completed 1d\n"
    "  leasehold --json queue stats mail | jq .jobs\n"
    "\n"
    "Exit status: 0; otherwise see `leasehold --help`.\n";

}  // namespace

command add_queue(CLI::App& tool, const global_options& options) {
    CLI::App* const parser =
        tool.add_subcommand("queue", "Show the queues of jobs, pause them, set their limits");
    parser->require_subcommand(0, 1);
    parser->footer(queue_help);
    auto name = std::make_shared<std::string>();
    auto chosen = std::make_shared<limit_options>();
    CLI::App* const stats = parser->add_subcommand("stats", "Count the jobs of one, or of all");
    stats->add_option("NAME", *name, "The queue");
    CLI::App* const pausing = parser->add_subcommand("pause", "Start none of its jobs");
    CLI::App* const resuming = parser->add_subcommand("resume", "Start them again");
    for (CLI::App* const each : {pausing, resuming}) {
        each->add_option("NAME", *name, "The queue")->required();
    }
    CLI::App* const limiting =
        parser->add_subcommand("limit", "Set its limits, for all workers, or show them");
    add_limits(*limiting, *chosen);
    for (CLI::App* const each : {stats, pausing, resuming, limiting}) {
        each->fallthrough()->footer(queue_help);
    }
    return {parser, [=, &options] {
                if (pausing->parsed()) return set_paused(*name, true, options);
                if (resuming->parsed()) return set_paused(*name, false, options);
                if (limiting->parsed()) return set_limits(*chosen, *limiting, options);
                const database db = open_database(options);
                if (!name->empty()) {
                    return show({job_queue{db, *name}.describe()}, options.is_json);
                }
                return show(list_queues(db), options.is_json);
            }};
}

}  // namespace leasehold::cli
