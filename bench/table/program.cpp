#include "bench/table/program.hpp"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <thread>
#include <utility>

#include "bench/print.hpp"
#include "bench/table/hands.hpp"
#include "bench/table/process_crew.hpp"
#include "bench/table/server_cpu.hpp"
#include "bench/table/tool_side.hpp"
#include "bench/texts.hpp"
#include "budget/relay.hpp"
#include "support/url.hpp"

namespace leasehold::bench {
namespace {

using std::chrono::milliseconds;

int port_of(const std::string& url) {
    const auto end = url.find('/', url.find("://") + 3);
    return std::stoi(url.substr(url.rfind(':', end) + 1));
}

std::string from_environment(const std::string& backend, const char* what) {
    std::string name = "LEASEHOLD_TEST_";
    for (const char each : backend) {
        name += static_cast<char>(std::toupper(static_cast<unsigned char>(each)));
    }
    name.append("_").append(what);
    const char* const found = std::getenv(name.c_str());
    return found ? found : "";
}

}  // namespace

// Without TLS, which is one client library's habit and not the other's.
std::string url_for(const options& chosen, const std::string& folder) {
    if (!chosen.url.empty()) return chosen.url;
    if (chosen.backend == "sqlite") return "sqlite:" + folder + "/bench.db";
    const std::string found = from_environment(chosen.backend, "URL");
    if (found.empty()) throw std::runtime_error("no server: see bench/table/run, or give --url");
    const bool is_postgres = chosen.backend == "postgres";
    return testing::with_option(found, is_postgres ? "sslmode=disable" : "ssl-mode=DISABLED");
}

std::unique_ptr<side> make_side(const std::string& by, const workload& what, const place& where) {
    if (what.what == "tool") {
        if (by == "leasehold") return make_tool_side(where);
        return make_flock_side(where.board + ".flock");
    }
    if (by == "leasehold") return make_subject(what, where);
    if (by == "quiet") return make_quiet_subject(what, where);
    if (by == "library") return make_floor(what, where, by, &make_library_hand);
    // Other ways to drain a table of jobs: see make_floor.
    if (by == "apart" || by == "held") return make_floor(what, where, by, &make_library_hand);
    if (by == "connection") return make_floor(what, where, by);
    throw std::runtime_error("no such side: " + by);
}

program::program(const options& chosen)
    : chosen_(chosen),
      room_(url_for(chosen, folder_.path()), ""),
      gauges_(room_.where(), server_cpu()) {
    if (!chosen_.is_json) {
        std::cout << text_heading();
        return;
    }
    const auto server = room_.where().open(1, milliseconds{5000}).server();
    const nlohmann::json first{{"backend", chosen_.backend}, {"version", server.version_text}};
    std::cout << first.dump() << std::endl;
}

program::~program() = default;

void program::run(const std::vector<step>& plan) {
    for (const step& each : plan) run(each);
    room_.remove();
}

std::function<double()> program::server_cpu() const {
    const std::string pid = chosen_.url.empty() ? from_environment(chosen_.backend, "PID") : "";
    if (pid.empty()) return {};
    return [number = std::stoi(pid)] { return server_cpu_us(number); };
}

contender program::contender_of(const std::string& by, const workload& what, place where) {
    where.max_connections = chosen_.connections;
    if (what.are_processes || what.what == "tool") {
        where.board = folder_.path() + "/" + what.what;
    }
    auto of = make_side(by, what, where);
    if (!of) return {by, nullptr};
    of->set_up();
    if (!what.are_processes) {
        return {by, std::make_unique<thread_crew>(std::move(of), what.workers)};
    }
    return {by, std::make_unique<process_crew>(std::move(of), by, what, where)};
}

std::map<std::string, double> program::round_trips(const step& what) {
    std::map<std::string, double> found;
    const bool is_counted = chosen_.backend != "sqlite" && what.what.workers == 1 &&
                            !what.what.are_processes && what.what.what != "tool" &&
                            what.what.what != "heartbeat" && what.what.what != "sessions";
    if (!is_counted) return found;
    const testing::relay counting{port_of(room_.where().url)};
    place where = room_.where();
    where.url = testing::with_port(where.url, counting.port());
    std::vector<std::string> names{"leasehold"};
    names.insert(names.end(), what.floors.begin(), what.floors.end());
    for (const std::string& by : names) {
        const contender each = contender_of(by, what.what, where);
        if (!each.who) continue;
        std::int64_t before = 0;
        std::int64_t after = 0;
        each.who->before_round();
        const round_marks marks{
            [&] { before = counting.round_trips(); }, [&] { after = counting.round_trips(); }};
        each.who->run({clock::now(), milliseconds{100}}, {}, {});  // prepares the statements
        const auto done =
            each.who->run({clock::now() + milliseconds{5}, milliseconds{300}}, marks, {});
        if (done.items > 0) {
            found[by] = static_cast<double>(after - before) / static_cast<double>(done.items);
        }
    }
    return found;
}

std::map<std::string, program::growth> program::look_at_tables() {
    std::map<std::string, growth> found;
    if (chosen_.backend != "postgres") return found;
    const place& where = room_.where();
    const auto text = text_of(engine::postgres, "growth", where.names);
    const auto answer = where.open(1, milliseconds{5000}).execute(text, {where.names.prefix});
    for (const row& each : answer.rows) {
        const auto number = [&](std::size_t at) { return static_cast<double>(each.integer(at)); };
        found[each.text(0)] = {number(1), number(2), number(3)};
    }
    return found;
}

// Each connection tells when it ends, and is not waited for: until all that was done is seen.
void program::add_growth(const std::map<std::string, growth>& before, report& to) {
    const bool changes = to.what.what == "commit" || to.what.what == "pair" ||
                         to.what.what == "hop" || to.what.what == "heartbeat";
    if (chosen_.backend != "postgres" || !changes) return;
    const auto since = [&](const std::string& whose, auto member) {
        const auto found = before.find(whose);
        return look_at_tables()[whose].*member -
               (found == before.end() ? 0 : found->second.*member);
    };
    for (side_report& each : to.sides) {
        const std::string whose = each.name == "leasehold" ? each.name : "floor";
        const auto done = static_cast<double>(each.operations);
        const auto deadline = clock::now() + std::chrono::seconds{3};
        while (since(whose, &growth::changes) < done && clock::now() < deadline) {
            std::this_thread::sleep_for(milliseconds{20});
        }
        if (to.sides.size() > 2 && whose == "floor") continue;  // two floors share a table
        each.each["cold_updates"] = since(whose, &growth::cold_updates) / done;
        each.each["dead_rows"] = std::max(0.0, since(whose, &growth::dead_rows) / done);
    }
}

void program::run(const step& what) {
    const bool is_terminal = isatty(STDERR_FILENO) == 1;
    report made;
    const auto before = look_at_tables();
    {
        std::vector<contender> sides;
        sides.push_back(contender_of("leasehold", what.what, room_.where()));
        if (!sides[0].who) sides.clear();
        for (const std::string& by : what.floors) {
            sides.push_back(contender_of(by, what.what, room_.where()));
        }
        const auto tell = [&](const std::string& name, int repetition) {
            if (!is_terminal) return;
            std::cerr << "\r\033[K" << chosen_.backend << ": " << what.what.what << ", "
                      << what.what.shape() << ": " << name << " " << repetition << std::flush;
        };
        const timing times{chosen_.repetitions, milliseconds{what.round_ms}};
        made = compare(what.what, sides, times, gauges_, tell, {});
    }
    add_growth(before, made);
    for (const auto& [by, each] : round_trips(what)) {
        for (side_report& side : made.sides) {
            if (side.name == by) side.each["round_trips"] = each;
        }
    }
    if (is_terminal) std::cerr << "\r\033[K" << std::flush;
    print(made);
}

void program::print(const report& made) const {
    if (!chosen_.is_json) {
        std::cout << text_of(made) << std::flush;
        return;
    }
    auto object = json_of(made);
    object["backend"] = chosen_.backend;
    std::cout << object.dump() << std::endl;
}

}  // namespace leasehold::bench
