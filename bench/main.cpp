// `leasehold-bench`: measures a database, leasehold beside what one would write by hand.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <exception>
#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "bench/bounds.hpp"
#include "bench/plot.hpp"
#include "bench/print.hpp"
#include "bench/room.hpp"
#include "bench/suite.hpp"
#include "leasehold/error.hpp"
#include "leasehold/open.hpp"

namespace leasehold::bench {
namespace {

constexpr int usage_error = 64;
constexpr int by_signal = 128;

struct options {
    std::string url{};
    std::string schema{};
    suite_settings what{};
    int whole_ms = 60'000;
    std::string svg{};
    bool cleans_up = false;
    bool is_json = false;
};

// Shows on one line of a terminal which round is measured now.
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

void print_bounds(const std::vector<report>& all, bool has_server, bool is_json) {
    const unsigned processors = std::max(1U, std::thread::hardware_concurrency());
    const auto sentences = sentences_on(all, {processors, has_server});
    if (!is_json) {
        for (const std::string& each : sentences) std::cout << each << std::endl;
        return;
    }
    nlohmann::json object{{"bound", nullptr}, {"sentences", sentences}};
    if (const auto parts = parts_of(all)) {
        object["bound"] = name_of(parts->largest());
        object["acquire_us"] = {
            {"whole", parts->whole},
            {"round_trip", parts->round_trip},
            {"flush", parts->flush},
            {"client", parts->client},
            {"server", parts->server}};
    }
    std::cout << object << std::endl;
}

// Prints at once, so that a reader of a pipe sees the report while the rest is measured.
void print_report(const report& made, bool is_json) {
    if (is_json) {
        std::cout << json_of(made) << std::endl;
    } else {
        std::cout << text_of(made) << std::flush;
    }
}

bool is_file(const room& in) {
    return in.where().url.starts_with("sqlite:");
}

std::runtime_error left_behind(const room& in, const error& why) {
    const std::string what = is_file(in) ? "the file " + in.where().url.substr(7)
                                         : "the tables " + in.where().names.prefix + "...";
    return std::runtime_error(
        what + " could not be removed: " + why.what() +
        "; remove what is left with `leasehold-bench --clean-up`"
    );
}

std::vector<report> measure_in(const room& in, const options& chosen, const std::stop_token& stop) {
    const status_line line{chosen.is_json};
    if (!chosen.is_json) std::cout << text_heading() << std::flush;
    const listener tell{
        [&](const workload& what, const std::string& side, int repetition) {
            line.show(
                what.what + ", " + what.shape() + ": " + side + ", " + std::to_string(repetition) +
                " of " + std::to_string(chosen.what.repetitions)
            );
        },
        [&](const report& made) {
            line.show("");
            print_report(made, chosen.is_json);
        }};
    return measure(in.where(), chosen.what, tell, stop);
}

// The tables are gone when it returns, also where it was stopped.
void measure_all(const options& chosen, const std::stop_token& stop) {
    room in{chosen.url, chosen.schema};
    std::vector<report> all;
    try {
        all = measure_in(in, chosen, stop);
    } catch (const interrupted&) {  // run_until_signalled() knows why
    }
    try {
        in.remove();
    } catch (const error& failed) {
        throw left_behind(in, failed);
    }
    if (stop.stop_requested()) return;
    print_bounds(all, !is_file(in), chosen.is_json);
    if (chosen.svg.empty()) return;
    std::ofstream file{chosen.svg};
    if (!(file << svg_of(plots_of(all)) << std::flush)) {
        throw std::runtime_error("cannot write to '" + chosen.svg + "'");
    }
}

void clean_up(const options& chosen) {
    const auto removed = remove_left_behind(chosen.url);
    if (chosen.is_json) {
        std::cout << nlohmann::json{{"removed", removed}} << std::endl;
    } else {
        for (const std::string& each : removed) std::cout << "removed " << each << std::endl;
    }
}

// A signal ends the round, and the tables are removed before the program ends by that signal's
// status. The signals are blocked in every thread, so that only this function receives them.
int run_until_signalled(const options& chosen) {
    sigset_t ends;
    sigemptyset(&ends);
    for (const int each : {SIGINT, SIGTERM, SIGHUP, SIGUSR1}) sigaddset(&ends, each);
    pthread_sigmask(SIG_BLOCK, &ends, nullptr);
    std::exception_ptr failure;
    const pthread_t main_thread = pthread_self();
    std::jthread measuring{[&](const std::stop_token& stop) {
        try {
            measure_all(chosen, stop);
        } catch (...) {
            failure = std::current_exception();
        }
        pthread_kill(main_thread, SIGUSR1);  // it is done
    }};
    int stopped_by = 0;
    for (int signal = 0; sigwait(&ends, &signal) == 0 && signal != SIGUSR1;) {
        stopped_by = signal;
        measuring.request_stop();
    }
    measuring.join();
    if (failure) std::rethrow_exception(failure);
    return stopped_by == 0 ? 0 : by_signal + stopped_by;
}

constexpr const char* examples_text =
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
    "It makes tables of its own, leasehold_bench_..., and removes them, also when it is\n"
    "interrupted; on SQLite it makes a file of its own beside yours. If it was killed,\n"
    "`leasehold-bench --clean-up` removes what is left; let no other one run meanwhile. It loads\n"
    "the database: do not run it on one that others need now. A URL with a password belongs into\n"
    "LEASEHOLD_URL, since other users of the machine see arguments.\n"
    "\n"
    "Examples:\n"
    "  leasehold-bench sqlite:/tmp/try.db\n"
    "  leasehold-bench --only pair,hop --threads 1,4,16,64 --waiters 2,8,64 --svg pairs.svg\n"
    "  leasehold-bench --json --time 5m >today.json\n"
    "  leasehold-bench --clean-up\n"
    "\n"
    "Exit status: 0; 128+n where signal n stopped it; 64 wrong usage; 1 another failure.\n";

void add_sizes(CLI::App& parser, suite_settings& what) {
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

void add_options(CLI::App& parser, options& to) {
    static const std::map<std::string, int> units{{"ms", 1}, {"s", 1000}, {"m", 60'000}};
    parser.add_option("URL", to.url, "As `leasehold --url` has it")->envname("LEASEHOLD_URL");
    parser.add_option("--schema", to.schema, "Of PostgreSQL, for its tables")->option_text("NAME");
    parser.add_option("--only", to.what.only, "Measure these alone; see below")
        ->delimiter(',')
        ->check(CLI::IsMember(workload_names()))
        ->option_text("NAME,...");
    add_sizes(parser, to.what);
    parser.add_option("--time", to.whole_ms, "How long all of it takes, about; default 1m")
        ->transform(CLI::AsNumberWithUnit(units, CLI::AsNumberWithUnit::UNIT_REQUIRED))
        ->option_text("D");
    parser.add_option("--svg", to.svg, "Plot rates and latencies into FILE")->option_text("FILE");
    parser.add_flag("--json", to.is_json, "One JSON object for each line");
    parser.add_flag("--clean-up", to.cleans_up, "Remove what killed ones have left");
    parser.footer(examples_text);
}

int run(int count, char** values) {
    CLI::App parser{"Measures a database, in about a minute.", "leasehold-bench"};
    options chosen;
    add_options(parser, chosen);
    try {
        parser.parse(count, values);
        if (chosen.url.empty()) throw CLI::ValidationError("URL", "is needed, or LEASEHOLD_URL");
        if (!chosen.svg.empty() && !std::ofstream{chosen.svg, std::ios::app}) {
            throw CLI::ValidationError("--svg", "cannot write to '" + chosen.svg + "'");
        }
    } catch (const CLI::ParseError& failed) {
        if (failed.get_exit_code() == 0) return parser.exit(failed);  // --help
        std::cerr << "leasehold-bench: " << failed.what() << " (see leasehold-bench --help)\n";
        return usage_error;
    }
    chosen.what.whole = std::chrono::milliseconds{chosen.whole_ms};
    if (!chosen.cleans_up) return run_until_signalled(chosen);
    clean_up(chosen);
    return 0;
}

}  // namespace
}  // namespace leasehold::bench

int main(int count, char** values) try {
    return leasehold::bench::run(count, values);
} catch (const std::exception& failed) {
    std::cerr << "leasehold-bench: " << failed.what() << std::endl;
    return 1;
}
