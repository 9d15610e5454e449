// The developer's benchmarks: see usage, and `run` beside this file, which starts servers for them.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "bench/comparison.hpp"
#include "bench/hands.hpp"
#include "bench/print.hpp"
#include "bench/process_crew.hpp"
#include "bench/room.hpp"
#include "bench/server_cpu.hpp"
#include "support/folder.hpp"

namespace leasehold::bench {
namespace {

struct options {
    std::string backend = "postgres";
    std::string url{};
    std::vector<std::string> what{"pair"};
    std::vector<int> threads{};
    std::vector<int> processes{};
    std::vector<int> batches{1, 10, 100};
    int held = 0;
    std::vector<std::string> floors{"library"};
    int repetitions = 5;
    int round_ms = 1000;
    int connections = place{}.connections_max;
    bool is_json = false;
};

std::unique_ptr<side> make(const std::string& by, const workload& what, const place& where) {
    if (by == "leasehold") return make_subject(what, where);
    if (by == "library") return make_floor(what, where, by, &make_library_hand);
    if (by == "connection") return make_floor(what, where, by);
    throw std::runtime_error("no such side: " + by);
}

class program {
public:
    explicit program(const options& chosen)
        : chosen_(chosen), room_(url(), ""), gauges_(room_.where(), server_cpu()) {}

    void run() {
        for (const std::string& what : chosen_.what) {
            const bool has_batches = what.ends_with("-claim");
            for (const int batch : has_batches ? chosen_.batches : std::vector{1}) {
                for (const int each : chosen_.threads) run({what, each, false, batch, held()});
                for (const int each : chosen_.processes) run({what, each, true, batch, held()});
            }
        }
        room_.remove();
    }

private:
    int held() const { return chosen_.held; }

    std::string url() const {
        if (!chosen_.url.empty()) return chosen_.url;
        if (chosen_.backend == "sqlite") return "sqlite:" + folder_.path() + "/bench.db";
        const std::string name = from_environment("URL");
        if (name.empty()) throw std::runtime_error("no server: run tests/bench/run, or give --url");
        return name;
    }
    std::string from_environment(const char* what) const {
        std::string name = "LEASEHOLD_TEST_";
        for (const char each : chosen_.backend) {
            name += static_cast<char>(std::toupper(static_cast<unsigned char>(each)));
        }
        name.append("_").append(what);
        const char* const found = std::getenv(name.c_str());
        return found ? found : "";
    }
    std::function<double()> server_cpu() const {
        const std::string pid = chosen_.url.empty() ? from_environment("PID") : "";
        if (pid.empty()) return {};
        return [number = std::stoi(pid)] { return server_cpu_us(number); };
    }

    contender contender_of(const std::string& by, const workload& what) {
        place where = room_.where();
        where.connections_max = chosen_.connections;
        if (what.are_processes) where.board = folder_.path() + "/board." + what.what;
        auto of = make(by, what, where);
        if (!of) return {by, nullptr};
        of->set_up();
        if (!what.are_processes) {
            return {by, std::make_unique<thread_crew>(std::move(of), what.workers)};
        }
        return {by, std::make_unique<process_crew>(std::move(of), by, what, where)};
    }

    void run(const workload& what) {
        std::vector<contender> sides;
        for (const std::string& by : names()) {
            auto made = contender_of(by, what);
            if (made.who) sides.push_back(std::move(made));
        }
        const timing times{chosen_.repetitions, std::chrono::milliseconds{chosen_.round_ms}};
        const auto tell = [&](const std::string& name, int repetition) {
            if (isatty(STDERR_FILENO) != 1) return;
            std::cerr << "\r\033[K" << what.what << ", " << what.shape() << ": " << name << " "
                      << repetition << std::flush;
        };
        const report made = compare(what, sides, times, gauges_, tell, {});
        if (isatty(STDERR_FILENO) == 1) std::cerr << "\r\033[K" << std::flush;
        auto object = json_of(made);
        object["backend"] = chosen_.backend;
        std::cout << (chosen_.is_json ? object.dump() + "\n" : text_of(made)) << std::flush;
    }
    std::vector<std::string> names() const {
        std::vector<std::string> all{"leasehold"};
        all.insert(all.end(), chosen_.floors.begin(), chosen_.floors.end());
        return all;
    }

    const options chosen_;
    const testing::folder folder_;
    room room_;
    gauges gauges_;
};

int run(int count, char** values) {
    if (count == 2 && std::string_view{values[1]} == "--worker") return work_as_told(&make);
    CLI::App parser{"Measures leasehold beside its floors.", "bench"};
    options chosen;
    parser.add_option("--backend", chosen.backend, "postgres, mariadb, mysql or sqlite");
    parser.add_option("--url", chosen.url, "Instead of the server that tests/bench/run started");
    parser.add_option(
        "what", chosen.what, "round-trip, commit, pair, refused, hop, row-claim, versioned-claim"
    );
    parser.add_option("--threads", chosen.threads, "How many, in one process")->delimiter(',');
    parser.add_option("--processes", chosen.processes, "How many of one thread")->delimiter(',');
    parser.add_option("--batches", chosen.batches, "Of claims")->delimiter(',');
    parser.add_option("--held", chosen.held, "Leases that each session holds besides");
    parser.add_option("--floors", chosen.floors, "library (the client library), connection (ours)")
        ->delimiter(',');
    parser.add_option("--repetitions", chosen.repetitions, "Of each side; default 5");
    parser.add_option("--round", chosen.round_ms, "Milliseconds of each; default 1000");
    parser.add_option("--connections", chosen.connections, "connections_max of leasehold");
    parser.add_flag("--json", chosen.is_json, "One object per line");
    CLI11_PARSE(parser, count, values);
    if (chosen.threads.empty() && chosen.processes.empty()) chosen.threads = {1};
    program{chosen}.run();
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
