// The conductor of a soak run: real worker processes against a real database, faults by a seeded
// schedule, and a verdict by the checkers. See tests/soak/checkers.hpp for what must hold.
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

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>
#include <stdexcept>
#include <vector>

#include "leasehold/leasehold.hpp"
#include "soak/checkers.hpp"
#include "soak/faults.hpp"
#include "soak/tables.hpp"
#include "support/folder.hpp"
#include "support/required.hpp"

namespace leasehold::soak {
namespace {

using namespace std::chrono_literals;
using std::chrono::seconds;

constexpr milliseconds ttl = 1s;
constexpr milliseconds liveness_patience = ttl + 5s;
constexpr int operations_per_second_min = 20;
// A machine may stand still once or twice when it matters; that nothing comes about again and again
// is a fault.
constexpr int voids_max = 2;

std::string variable(const std::string& name, const std::string& otherwise = {}) {
    const char* const found = std::getenv(name.c_str());
    return found ? found : otherwise;
}

// Which check must report a planted bug.
const std::map<std::string, std::string> plants{
    {"ignore_deadline", "C1"},
    {"reuse_token", "C2"},
    {"unfenced_append", "C3"},
    {"fenced_control", "C4"},
};

struct plan {
    std::string backend;
    std::vector<std::string> urls;  // of the nodes; the first is the conductor's own
    std::string control;            // empty: no faults of the server
    std::string plant;
    std::filesystem::path folder;
    std::string prefix;
    std::uint64_t seed = 0;
    seconds length{0};
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
    if (!made.control.empty()) return made;
    throw std::runtime_error(
        name +
        " is not set: run by tests/run, or set LEASEHOLD_SOAK_SERVER_FAULTS=no to leave the "
        "server alone"
    );
}

// So little was done that faults in it would prove nothing.
struct void_run : std::runtime_error {
    using std::runtime_error::runtime_error;
};

class conductor {
public:
    explicit conductor(plan given)
        : plan_(std::move(given)),
          history_(plan_.folder, 0),
          page_(signal_page::create(plan_.folder / "signals")),
          tables_(plan_.prefix),
          random_(plan_.seed),
          crew_(crew_settings(), page_, history_) {
        if (plan_.control.empty()) return;
        server_.emplace(plan_.control, plan_.urls.size(), plan_.seed, history_);
    }

    // Throws void_run where there is nothing to judge, and something else where the run cannot be
    // judged, or a process of it failed.
    void run() {
        const database own = open();
        tables_.create(own);
        wait_for_tables();
        crew_.start_all();
        measure_pace();
        if (operations_per_second_ < operations_per_second_min) {
            end_crew();
            tables_.drop(own);
            throw void_run(
                "void: " + std::to_string(operations_per_second_) +
                " operations per second before the first fault, and " +
                std::to_string(operations_per_second_min) + " are needed"
            );
        }
        inject_until(clock::now() + plan_.length - liveness_patience);
        drain();
        take_every_key();
        const database fresh = open();
        for (const record& each : tables_.content(fresh)) history_.write(each);
        tables_.drop(fresh);
    }

    double operations_per_second() const noexcept { return operations_per_second_; }
    const fault_counts& counts() const noexcept { return counts_; }

private:
    crew::settings crew_settings() const {
        const auto here = std::filesystem::read_symlink("/proc/self/exe").parent_path();
        return {here / "soak_worker", plan_.folder, plan_.prefix, plan_.urls, plan_.seed, 6, ttl};
    }

    database open() const {
        return open_database(plan_.urls.front(), plan_.prefix, time_outs::of_the_conductor);
    }

    // Another node of a cluster hears of them a little later.
    void wait_for_tables() const {
        for (const std::string& each : plan_.urls) {
            const database there = open_database(each, plan_.prefix, time_outs::of_the_conductor);
            const auto deadline = clock::now() + 20s;
            while (!tables_.are_there(there)) {
                if (clock::now() > deadline) throw std::runtime_error("no tables at " + each);
                nap(20ms);
            }
        }
    }

    void watch_until(clock::time_point when) {
        do {
            crew_.look_after();
            if (server_) server_->go_on();
            nap(4ms);
        } while (clock::now() < when);
    }

    // Faults in a system that does nothing would prove nothing. The best of a few looks, since the
    // machine may stand still during one.
    void measure_pace() {
        const auto deadline = clock::now() + 20s;
        while (page_.operations() == 0 && clock::now() < deadline) watch_until(clock::now());
        constexpr int looks = 3;
        for (int each = 0; each < looks; ++each) {
            const auto before = page_.operations().load();
            const auto start = clock::now();
            watch_until(start + 3s);
            const std::chrono::duration<double> took = clock::now() - start;
            const auto done = static_cast<double>(page_.operations().load() - before);
            operations_per_second_ = std::max(operations_per_second_, done / took.count());
            if (operations_per_second_ >= operations_per_second_min) return;
        }
    }

    milliseconds between(milliseconds least, milliseconds most) {
        return milliseconds{
            std::uniform_int_distribution<std::int64_t>(least.count(), most.count())(random_)};
    }

    void inject_until(clock::time_point end) {
        auto next_worker_fault = clock::now();
        auto next_server_fault = clock::now() + between(1s, 3s);
        while (clock::now() < end) {
            watch_until(std::min({end, next_worker_fault, next_server_fault}));
            if (clock::now() >= next_worker_fault) {
                if (between(1ms, 4ms) == 1ms) {
                    crew_.kill_one(random_, counts_);
                } else {
                    crew_.pause_one(random_, counts_);
                }
                next_worker_fault = clock::now() + between(300ms, 1100ms);
            }
            if (clock::now() >= next_server_fault) {
                next_server_fault = clock::now() + between(4s, 9s);
                if (server_ && server_->is_up()) hit_server();
            }
        }
    }

    void hit_server() {
        const bool is_cluster = plan_.urls.size() > 1;
        const bool may_kill = variable("LEASEHOLD_SOAK_SERVER_FAULTS") != "no_kills";
        if (is_cluster && between(1ms, 2ms) == 1ms) {
            ++counts_.server_held_back;
            server_->hold_back(between(ttl, ttl * 4));
        } else if (may_kill && (counts_.server_killed == 0 || between(1ms, 3ms) > 1ms)) {
            ++counts_.server_killed;
            server_->kill(between(0ms, 800ms));
        } else {
            ++counts_.server_paused;
            server_->pause(between(ttl / 2, ttl * 2));
        }
    }

    void drain() {
        const auto is_going_on = [&] {
            return crew_.has_paused() || (server_ && !server_->is_up());
        };
        while (is_going_on()) watch_until(clock::now());
        record what;
        what.what = operation::drain;
        what.when = phase::note;
        history_.write(what);
        watch_until(clock::now() + liveness_patience);
        end_crew();
    }

    void end_crew() {
        page_.is_over() = true;
        crew_.wait_for_all(20s);
    }

    // Whatever happened, everything can be had again.
    void take_every_key() {
        const database own = open();
        session last{own, {.name = "soak-conductor"}};
        for (int key = 0; key < key_count; ++key) {
            record what;
            what.id = history_.next_id();
            what.what = operation::acquire;
            what.when = phase::invoke;
            what.key = key;
            history_.write(what);
            auto got = mutex{last, key_of(key)}.acquire_for(liveness_patience);
            if (!got) {
                throw std::runtime_error("C7: key " + std::to_string(key) + " cannot be had again");
            }
            what.when = phase::ok;
            what.token = got->token().number;
            what.until_ns = got->deadline().time_since_epoch().count();
            history_.write(what);
            what.what = operation::release;
            what.grant = what.id;
            what.id = history_.next_id();
            what.when = phase::invoke;
            history_.write(what);
            got->release();
        }
    }

    const plan plan_;
    history_writer history_;
    signal_page page_;
    const tables tables_;
    std::mt19937_64 random_;
    std::optional<server_faults> server_;
    crew crew_;  // goes before the server is brought back: nobody waits for it then
    fault_counts counts_;
    double operations_per_second_ = 0;
};

// ----------------------------------------------------------------------------------- the verdict

findings judge(const facts& all) {
    findings found;
    const auto add = [&](const findings& more) {
        found.insert(found.end(), more.begin(), more.end());
    };
    add(check_beliefs(all));
    add(check_tokens(all));
    add(check_effects(all));
    add(check_control(all));
    add(check_liveness(all, liveness_patience));
    return found;
}

void line(const char* what, const std::string& value) {
    std::printf("  %-44s %s\n", what, value.c_str());
}

std::string text(std::int64_t number) {
    return std::to_string(number);
}

void print_steps(const char* what, const std::map<int, std::vector<step>>& by_key) {
    std::map<phase, std::int64_t> counts;
    std::map<std::string, std::int64_t> refusals;
    for (const auto& [key, steps] : by_key) {
        for (const step& each : steps) {
            ++counts[each.outcome];
            if (each.outcome == phase::fail && each.detail.starts_with(refused_prefix)) {
                ++refusals[each.detail];
            }
        }
    }
    line(
        what,
        text(counts[phase::ok]) + " done, " + text(counts[phase::fail]) + " not, " +
            text(counts[phase::unknown]) + " unknown"
    );
    for (const auto& [why, count] : refusals) line(("  stale, " + why).c_str(), text(count));
}

void print_facts(const facts& all) {
    std::map<phase, std::int64_t> acquires;
    for (const step& each : all.acquires) ++acquires[each.outcome];
    line(
        "acquire",
        text(acquires[phase::ok]) + " granted, " + text(acquires[phase::fail]) + " not, " +
            text(acquires[phase::unknown]) + " unknown"
    );
    print_steps("append under proof", all.appends);
    print_steps("write without proof", all.controls);
    print_steps("release", all.releases);
    print_steps("free by force", all.forces);
    line("sessions opened", text(all.sessions));
    const control_loss loss = measure_control(all);
    line(
        "lost updates without proof",
        text(loss.lost) + " of " + text(loss.acknowledged) + " (" +
            text(loss.overwritten_by_a_stale_holder) + " stale holders overwrote)"
    );
    std::int64_t entries = 0, counter = 0;
    for (const auto& [key, list] : all.entries) entries += static_cast<std::int64_t>(list.size());
    for (const auto& [key, number] : all.counter) counter += number;
    line("lost updates with proof", text(entries - counter) + " of " + text(entries));
}

void print_counts(const fault_counts& counts) {
    line(
        "workers killed",
        text(counts.killed) + " (" + text(counts.killed_while_holding) + " while holding a key)"
    );
    line(
        "workers paused for 1.5 to 3 TTL",
        text(counts.paused) + " (" + text(counts.paused_while_working) + " while working, " +
            text(counts.paused_in_transaction) + " in a transaction)"
    );
    line("server killed and started", text(counts.server_killed));
    line("server paused", text(counts.server_paused));
    line("node held back behind the others", text(counts.server_held_back));
}

void print(const findings& found) {
    constexpr std::size_t shown_max = 20;
    for (std::size_t at = 0; at < found.size() && at < shown_max; ++at) {
        std::printf("VIOLATION %s %s\n", found[at].check.c_str(), found[at].text.c_str());
    }
    if (found.size() > shown_max) std::printf("... and %zu more\n", found.size() - shown_max);
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
    return is_caught ? verdict::passed : verdict::failed;
}

// `voids_left`: how often this may still be repeated where it has shown nothing.
verdict run_round(const plan& given, int voids_left) {
    verdict came_to = verdict::failed;
    try {
        conductor leading{given};
        leading.run();
        const facts all = gather(read_history(given.folder));
        std::printf("soak on %s, %ld s\n", given.backend.c_str(), long{given.length.count()});
        line(
            "operations per second before the faults",
            text(static_cast<std::int64_t>(leading.operations_per_second()))
        );
        print_counts(leading.counts());
        print_facts(all);
        const findings found = judge(all);
        print(found);
        came_to = verdict_on(given, found);
    } catch (const void_run& nothing) {
        std::printf("VIOLATION %s\n", nothing.what());
        if (given.plant.empty()) came_to = verdict::nothing_shown;
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
    int voids_left = voids_max;
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
    const facts all = gather(read_history(folder));
    print_facts(all);
    const findings found = judge(all);
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
