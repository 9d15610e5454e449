// The developer's benchmarks: see README.md, and `run` beside this file, which starts servers.
#include <CLI/CLI.hpp>
#include <iostream>

#include "bench/table/job_growth.hpp"
#include "bench/table/process_crew.hpp"
#include "bench/table/program.hpp"
#include "bench/table/table.hpp"

namespace leasehold::bench {
namespace {

struct asked {
    options how{};
    std::vector<std::string> what{};
    std::vector<int> threads{};
    std::vector<int> processes{};
    std::vector<int> batches{};
    std::vector<int> held{};
    std::vector<std::string> floors{"library"};
    int round_ms = 1000;
    bool is_quick = false;
    page table{};
    page growth{};
    flat_settings flat{};
    int held_seconds = 600;
};

std::vector<std::string> floors_of(const workload& what, const std::vector<std::string>& chosen) {
    if (what.what == "heartbeat" || what.what == "sessions") return {};
    return what.what == "release" ? std::vector<std::string>{"quiet"} : chosen;
}

std::vector<int> batches_of(const std::string& what, const std::vector<int>& chosen) {
    const bool has_batches =
        what.ends_with("-claim") || what == "job-drain" || what == "job-enqueue";
    if (!has_batches) return {1};
    if (!chosen.empty()) return chosen;
    return what == "job-enqueue" ? std::vector{100'000} : std::vector{1, 10, 100};
}

// The steps that the options name; without options the plan of the table.
std::vector<step> steps_of(const asked& from) {
    if (from.what.empty()) return plan_of(from.is_quick);
    std::vector<step> all;
    const auto add = [&](const workload& what) {
        all.push_back({what, floors_of(what, from.floors), from.round_ms});
    };
    const std::vector<int> one{1};
    const bool is_sized = !from.threads.empty() || !from.processes.empty();
    for (const std::string& what : from.what) {
        for (const int batch : batches_of(what, from.batches)) {
            const bool holds = what == "pair" || what == "heartbeat";
            for (const int held : holds && !from.held.empty() ? from.held : std::vector{0}) {
                for (const int each : is_sized ? from.threads : one) {
                    add({what, each, false, batch, held});
                }
                for (const int each : from.processes) add({what, each, true, batch, held});
            }
        }
    }
    return all;
}

void add_options(CLI::App& parser, asked& to) {
    parser.add_option("--backend", to.how.backend, "postgres, mariadb, mysql or sqlite");
    parser.add_option("--url", to.how.url, "Instead of the server that bench/table/run started");
    parser.add_option(
        "what",
        to.what,
        "round-trip, commit, pair, refused, release, hop, row-claim, versioned-claim, heartbeat, "
        "sessions, job-drain, job-enqueue, job-start, tool; nothing: all of the table; or one of "
        "these alone: job-flat, job-held"
    );
    const auto add_sizes = [&](const char* name, std::vector<int>& into, const char* help) {
        parser.add_option(name, into, help)->delimiter(',');
    };
    add_sizes("--threads", to.threads, "How many, in one process; default 1");
    add_sizes("--processes", to.processes, "How many of one thread");
    add_sizes(
        "--batches", to.batches, "Of claims and jobs; default 1,10,100, of job-enqueue 100000"
    );
    parser.add_option("--queued", to.flat.queued, "Lengths of queues, of job-flat")->delimiter(',');
    parser.add_option("--ended", to.flat.ended, "Jobs in the history besides, of job-flat");
    parser.add_option("--for", to.held_seconds, "Seconds that job-held holds a snapshot");
    add_sizes("--held", to.held, "Leases that each session holds besides, of pair and heartbeat");
    parser
        .add_option(
            "--floors",
            to.floors,
            "library (the client library), connection (ours); of job-drain: apart, held"
        )
        ->delimiter(',');
    parser.add_option("--repetitions", to.how.repetitions, "Of each side; default 5");
    parser.add_option("--round", to.round_ms, "Milliseconds of each; default 1000");
    parser.add_option("--connections", to.how.connections, "max_connections of leasehold");
    parser.add_flag("--quick", to.is_quick, "A shorter table");
    parser.add_flag("--json", to.how.is_json, "One object per line");
    parser.add_option("--table", to.table.lines, "Print the page made of a file of such lines");
    parser.add_option("--growth", to.growth.lines, "The same of lines of bench/table/growth");
    parser.add_option("--plots", to.table.folder, "Of the page");
    parser.add_option("--about", to.table.about, "Of the page: machine, date and commit");
}

int run(int count, char** values) {
    if (count == 2 && std::string_view{values[1]} == "--worker") return work_as_told(&make_side);
    CLI::App parser{"Measures leasehold beside its floors.", "bench"};
    asked from;
    add_options(parser, from);
    CLI11_PARSE(parser, count, values);
    if (!from.growth.lines.empty()) {
        from.growth.folder = from.table.folder;
        from.growth.about = from.table.about;
        print_growth(from.growth);
    } else if (from.what == std::vector<std::string>{"job-flat"}) {
        const testing::folder folder;
        from.flat.rounds = from.how.repetitions;
        measure_flat(url_for(from.how, folder.path()), from.flat);
    } else if (from.what == std::vector<std::string>{"job-held"}) {
        const testing::folder folder;
        measure_held(url_for(from.how, folder.path()), {std::chrono::seconds{from.held_seconds}});
    } else if (from.table.lines.empty()) {
        program{from.how}.run(steps_of(from));
    } else {
        print_table(from.table);
    }
    return 0;
}

}  // namespace
}  // namespace leasehold::bench

int main(int count, char** values) try {
    return leasehold::bench::run(count, values);
} catch (const std::exception& failed) {
    std::cerr << "bench: " << failed.what() << std::endl;
    return 1;
}
