// `leasehold bench`: measures a database, leasehold beside what one would write by hand.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fstream>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "bench/bounds.hpp"
#include "bench/plot.hpp"
#include "bench/print.hpp"
#include "bench/room.hpp"
#include "bench/suite.hpp"
#include "cli/errand.hpp"
#include "cli/events.hpp"
#include "cli/exit_status.hpp"
#include "cli/open.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "leasehold/error.hpp"

namespace leasehold::cli {
namespace {

struct bench_options {
    bench::suite_settings what;
    std::string whole = "1m";
    std::string svg;
    bool cleans_up = false;
};

// What is measured now, on one line of a terminal.
class status_line {
public:
    explicit status_line(bool is_json) : is_wanted_(!is_json && isatty(STDERR_FILENO) == 1) {}
    ~status_line() { show(""); }
    status_line(const status_line&) = delete;
    status_line& operator=(const status_line&) = delete;

    void show(const std::string& text) const {
        if (is_wanted_) std::cerr << "\r\033[K" << text << std::flush;
    }

private:
    const bool is_wanted_;
};

void print_bounds(const std::vector<bench::report>& all, bool has_server, bool is_json) {
    const unsigned processors = std::max(1U, std::thread::hardware_concurrency());
    const auto sentences = bench::sentences_on(all, {processors, has_server});
    if (!is_json) {
        for (const std::string& each : sentences) print_line(each);
        return;
    }
    nlohmann::json object{{"bound", nullptr}, {"sentences", sentences}};
    if (const auto parts = bench::parts_of(all)) {
        object["bound"] = name_of(parts->largest());
        object["acquire_us"] = {
            {"whole", parts->whole},
            {"round_trip", parts->round_trip},
            {"flush", parts->flush},
            {"client", parts->client},
            {"server", parts->server}};
    }
    print_json(object);
}

// At once, so that a reader of a pipe sees it while the rest is measured.
void print_block(const std::string& lines) {
    std::cout << lines << std::flush;
}

void print_report(const bench::report& made, bool is_json) {
    if (is_json) {
        print_json(json_of(made));
        return;
    }
    print_block(text_of(made));
}

bool is_file(const bench::room& in) {
    return in.where().url.starts_with("sqlite:");
}

failure left_behind(const bench::room& in, const error& why) {
    const std::string what = is_file(in) ? "the file " + in.where().url.substr(7)
                                         : "the tables " + in.where().names.prefix + "...";
    return failure{
        exit_status_of(why.code()),
        name_of(why.code()),
        what + " could not be removed: " + why.what() +
            "; remove what is left with `leasehold bench --clean-up`"};
}

// In the background; what it made is gone when it returns, also where it was stopped.
int measure_all(
    const std::string& url,
    const std::string& schema,
    const bench_options& chosen,
    bool is_json,
    const std::stop_token& stop
) {
    bench::room in{url, schema};
    std::vector<bench::report> all;
    try {
        const status_line line{is_json};
        if (!is_json) print_block(bench::text_heading());
        const bench::listener tell{
            [&](const bench::workload& what, const std::string& side, int repetition) {
                line.show(
                    what.what + ", " + what.shape() + ": " + side + ", " +
                    std::to_string(repetition) + " of " + std::to_string(chosen.what.repetitions)
                );
            },
            [&](const bench::report& made) {
                line.show("");
                print_report(made, is_json);
            }};
        all = bench::measure(in.where(), chosen.what, tell, stop);
    } catch (const bench::interrupted&) {  // main() knows why
    }
    try {
        in.remove();
    } catch (const error& failed) {
        throw left_behind(in, failed);
    }
    if (stop.stop_requested()) return exit_status::done;
    print_bounds(all, !is_file(in), is_json);
    if (chosen.svg.empty()) return exit_status::done;
    std::ofstream file{chosen.svg};
    if (file << svg_of(plots_of(all)) << std::flush) return exit_status::done;
    throw failure{exit_status::failed, "internal", "cannot write to '" + chosen.svg + "'"};
}

int run_bench(const global_options& options, const bench_options& chosen) {
    open_database(options);  // what is wrong with the URL is said by the same words as ever
    const std::string url = url_of(options);
    if (chosen.cleans_up) {
        const auto removed = bench::remove_left_behind(url);
        if (options.is_json) {
            print_json({{"removed", removed}});
        } else {
            for (const std::string& each : removed) print_line("removed " + each);
        }
        return exit_status::done;
    }
    if (!chosen.svg.empty() && !std::ofstream{chosen.svg, std::ios::app}) {
        throw usage_failure("cannot write to '" + chosen.svg + "': --svg");
    }
    signal_inbox signals;
    background<int> running{[&](const std::stop_token& stop) {
        return measure_all(url, options.schema, chosen, options.is_json, stop);
    }};
    // A round ends at once, and its tables go: a little later for a database that is slow.
    static constexpr std::chrono::seconds goodbye{30};
    const int cancelled_by = wait_for_end(
        running,
        signals,
        [](int) { return goodbye; },
        -1,
        -1,
        [] { return std::chrono::nanoseconds{std::chrono::hours{1}}; }
    );
    const int status = running.take();
    return cancelled_by == 0 ? status : exit_status::by_signal + cancelled_by;
}

constexpr const char* bench_examples =
    "Each line is measured beside what one would write by hand for it, prepared, in turns: five\n"
    "times the one and the other, so that what else the machine does meets both. The ratio "
    "counts;\n"
    "rates and times are those of this database, from here, today. What is written by hand goes\n"
    "through the same connections as leasehold.\n"
    "\n"
    "  round-trip       the least that a server can be asked for\n"
    "  commit           one row changed, durable\n"
    "  pair             acquire and release of a key that nobody else wants, by --threads\n"
    "  refused          a try for a key that somebody holds; beside it a round trip\n"
    "  hop              one key that --waiters want all the time: beside it an advisory lock and\n"
    "                   a row (PostgreSQL), GET_LOCK, which keeps nothing on disk (MySQL,\n"
    "                   MariaDB), flock and a row (SQLite)\n"
    "  row-claim        rows claimed by their locks and finished, in --batches\n"
    "  versioned-claim  rows claimed by their versions, and finished later\n"
    "  job-drain        jobs claimed, done (nothing) and ended by a worker, in --batches\n"
    "  job-enqueue      jobs enqueued, 10,000 in one commit\n"
    "  job-start        from enqueuing a job until an idle worker begins with it\n"
    "\n"
    "Counts are for one of each, and the server's whole: what others do meanwhile is in them.\n"
    "\n"
    "It makes tables of its own, leasehold_bench_..., whatever --table-prefix says, and removes\n"
    "them, also when it is interrupted; on SQLite a file of its own beside yours. If it was "
    "killed,\n"
    "`leasehold bench --clean-up` removes what is left; let no other one run meanwhile. It loads\n"
    "the database: not for one that others need now.\n"
    "\n"
    "Examples:\n"
    "  leasehold bench\n"
    "  leasehold bench --only pair,hop --threads 1,4,16,64 --waiters 2,8,64 --svg pairs.svg\n"
    "  leasehold --json bench --time 5m >today.json\n"
    "  leasehold bench --clean-up\n"
    "\n"
    "Exit status: 0; 128+n where signal n stopped it; otherwise see `leasehold --help`.\n";

void add_sizes(CLI::App& parser, bench::suite_settings& what) {
    const auto add = [&](const char* name, std::vector<int>& into, const char* help, int most) {
        parser.add_option(name, into, help)
            ->delimiter(',')
            ->check(CLI::Range(1, most))
            ->option_text("N,...");
    };
    add("--threads", what.threads, "Threads of `pair`; default 1,16", 256);
    add("--waiters", what.waiters, "Waiting threads of `hop`; default 2,8", 256);
    add("--batches", what.batches, "Rows or jobs in one claim; default 1,10,100", 1000);
    parser.add_option("--repetitions", what.repetitions, "Of each side, at least 5; default 5")
        ->check(CLI::Range(5, 1000))
        ->option_text("N");
}

}  // namespace

command add_bench(CLI::App& tool, const global_options& options) {
    CLI::App* const parser = tool.add_subcommand("bench", "Measure a database, in about a minute");
    auto chosen = std::make_shared<bench_options>();
    parser->add_option("--only", chosen->what.only, "Measure these alone; see below")
        ->delimiter(',')
        ->check(CLI::IsMember(bench::workload_names()))
        ->option_text("NAME,...");
    add_sizes(*parser, chosen->what);
    parser->add_option("--time", chosen->whole, "How long all of it takes, about; default 1m")
        ->option_text("D");
    parser->add_option("--svg", chosen->svg, "Plot rates and latencies into FILE")
        ->option_text("FILE");
    parser->add_flag("--clean-up", chosen->cleans_up, "Remove what killed ones have left");
    parser->footer(bench_examples);
    return {parser, [chosen, &options] {
                chosen->what.whole = parse_duration(chosen->whole, "--time");
                return run_bench(options, *chosen);
            }};
}

}  // namespace leasehold::cli
