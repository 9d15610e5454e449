// The conductor of a soak run: real worker processes against a real database, faults by a seeded
// schedule, and a verdict by the checkers. See
// tests/soak/checkers.hpp and share_checkers.hpp for what must hold.
//
//   soak sqlite|postgres|mariadb|mysql      a run
//   soak cluster                            the same on all nodes of tests/cluster/servers
//   soak check FOLDER                       the verdict on a history that was kept
//
// LEASEHOLD_SOAK_SECONDS  how long, 30 by default, from the moment its workers are seen to work;
//                         what shows nothing is repeated with the next seed, twice at most
// LEASEHOLD_TEST_SEED     the schedule of an earlier run; the timing of a machine never repeats
// LEASEHOLD_SOAK_SERVER_FAULTS=no   leaves the server alone, for servers that others use; no_kills:
//                         pauses it, and holds it back behind the others, but kills it never
// LEASEHOLD_SOAK_PLANT    plants a bug; the run then passes only if the right check reports it
#include <stdlib.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>
#include <stdexcept>

#include "soak/conductor.hpp"
#include "soak/verdict.hpp"
#include "support/folder.hpp"
#include "support/required.hpp"

namespace leasehold::soak {
namespace {

using namespace std::chrono_literals;
using std::chrono::seconds;

// A machine may stand still once or twice when it matters; that nothing comes about again and again
// is a fault.
constexpr int max_voids = 2;

std::string variable(const std::string& name, const std::string& otherwise = {}) {
    const char* const found = std::getenv(name.c_str());
    return found ? found : otherwise;
}

// The check that must report a planted bug.
const std::map<std::string, std::string> plants{
    {"ignore_deadline", "C1"},
    {"reuse_token", "C2"},
    {"unfenced_append", "C3"},
    {"fenced_control", "C4"},
    {"late_share", "S4"},
    {"completion_without_token", "J1"},
    {"rescue_without_proof", "J3"},
    {"raised_limit", "J4"},
};

plan make_plan(const std::string& backend, std::uint64_t seed, seconds length) {
    plan made;
    made.backend = backend;
    made.seed = seed;
    made.length = length;
    made.plant = variable("LEASEHOLD_SOAK_PLANT");
    made.prefix = testing::fresh_prefix();
    made.folder = testing::fresh_folder();  // kept where the run fails
    if (backend == "sqlite") {
        made.urls = {"sqlite:" + (made.folder / "soak.db").string()};
        return made;
    }
    if (backend == "cluster") {
        std::istringstream all{variable("LEASEHOLD_TEST_CLUSTER_URLS")};
        for (std::string each; all >> each;) made.urls.push_back(each);
        if (made.urls.empty()) throw std::runtime_error("run by tests/cluster/servers");
    } else {
        made.urls = {testing::require_url(backend)};
    }
    if (variable("LEASEHOLD_SOAK_SERVER_FAULTS") == "no") return made;
    std::string name = "LEASEHOLD_TEST_" + backend + "_CONTROL";
    for (char& each : name) each = static_cast<char>(std::toupper(each));
    made.control = variable(name);
    made.may_kill_servers = variable("LEASEHOLD_SOAK_SERVER_FAULTS") != "no_kills";
    if (!made.control.empty()) return made;
    throw std::runtime_error(
        name +
        " is not set: run by tests/run, or set LEASEHOLD_SOAK_SERVER_FAULTS=no to leave the "
        "server alone"
    );
}

// The least number of commits of each kind; the first seconds of a run, and its last, are without.
std::int64_t commits_min(const plan& of) {
    return of.length.count() / 5;
}

enum class verdict { passed, failed, nothing_shown };

verdict verdict_on(const plan& of, const findings& found) {
    if (of.plant.empty()) {
        if (is_void(found)) return verdict::nothing_shown;
        return found.empty() ? verdict::passed : verdict::failed;
    }
    const std::string& wanted = plants.at(of.plant);
    const bool is_caught = std::any_of(found.begin(), found.end(), [&](const finding& each) {
        return each.check == wanted;
    });
    std::printf(
        "planted bug %s: %s by %s\n",
        of.plant.c_str(),
        is_caught ? "caught" : "NOT caught",
        wanted.c_str()
    );
    // A schedule may bring no chance to do the bug's harm, least of all on a busy machine.
    return is_caught ? verdict::passed : verdict::nothing_shown;
}

// `voids_left`: how often this may still be repeated where it has shown nothing.
verdict run_round(const plan& given, int voids_left) {
    verdict came_to = verdict::failed;
    try {
        conductor leading{given};
        leading.run();
        const account all = read_account(given.folder);
        std::printf("soak on %s, %ld s\n", given.backend.c_str(), long{given.length.count()});
        print_line(
            "operations per second before the faults",
            std::to_string(static_cast<std::int64_t>(leading.operations_per_second()))
        );
        print(leading.counts());
        print(all);
        const findings found = judge(all, commits_min(given));
        print(found);
        came_to = verdict_on(given, found);
    } catch (const void_run& nothing) {
        std::printf("VIOLATION %s\n", nothing.what());
        came_to = verdict::nothing_shown;
    } catch (const std::exception& failure) {
        std::printf("VIOLATION %s\n", failure.what());
        std::printf("its tables may still be there: %s*\n", given.prefix.c_str());
    }
    const bool is_repeated = came_to == verdict::nothing_shown && voids_left > 0;
    const bool is_good = came_to == verdict::passed;
    if ((is_good || is_repeated) && variable("LEASEHOLD_SOAK_KEEP").empty()) {
        std::filesystem::remove_all(given.folder);
    } else {
        std::printf("history: %s (judge it again: soak check FOLDER)\n", given.folder.c_str());
    }
    std::printf(
        "%s: LEASEHOLD_TEST_SEED=%lu LEASEHOLD_SOAK_SECONDS=%ld soak %s\n",
        is_good       ? "passed"
        : is_repeated ? "void, so the next seed is tried; repeat"
                      : "FAILED; repeat",
        given.seed,
        long{given.length.count()},
        given.backend.c_str()
    );
    std::fflush(stdout);
    return came_to;
}

// A long run is several with seeds that follow each other, so that each can be repeated alone and
// its history fits into memory. One that has shown nothing does not count.
int run(const std::string& backend) {
    constexpr seconds least = 15s;
    constexpr seconds most = 300s;
    seconds left{std::stoi(variable("LEASEHOLD_SOAK_SECONDS", "30"))};
    if (left < least) throw std::runtime_error("LEASEHOLD_SOAK_SECONDS must be at least 15");
    int voids_left = max_voids;
    for (std::uint64_t seed = testing::seed(); left >= least; ++seed) {
        const plan round = make_plan(backend, seed, std::min(left, most));
        const verdict came_to = run_round(round, voids_left);
        if (came_to == verdict::passed) {
            left -= round.length;
        } else if (came_to == verdict::failed || voids_left-- == 0) {
            return 1;
        }
    }
    return 0;
}

int check(const std::string& folder) {
    const account all = read_account(folder);
    print(all);
    const findings found = judge(all, 1);
    print(found);
    return found.empty() ? 0 : 1;
}

}  // namespace
}  // namespace leasehold::soak

int main(int count, char** arguments) {
    const std::string what = count > 1 ? arguments[1] : "";
    try {
        if (count == 3 && what == "check") return leasehold::soak::check(arguments[2]);
        const std::set<std::string> backends{"sqlite", "postgres", "mariadb", "mysql", "cluster"};
        if (count == 2 && backends.contains(what)) return leasehold::soak::run(what);
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "soak: %s\n", failure.what());
        return 1;
    }
    std::fputs("usage: soak sqlite|postgres|mariadb|mysql|cluster, or soak check FOLDER\n", stderr);
    return 64;
}
