#pragma once
// Measures one backend after a plan.
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bench/comparison.hpp"
#include "bench/gauges.hpp"
#include "bench/room.hpp"
#include "bench/table/plan.hpp"
#include "support/folder.hpp"

namespace leasehold::bench {

struct options {
    std::string backend = "postgres";
    std::string url{};  // empty: that of LEASEHOLD_TEST_<BACKEND>_URL; on SQLite a file of our own
    int repetitions = 5;
    int connections = place{}.max_connections;
    bool is_json = false;
};

// `folder`: where SQLite's file is made.
std::string url_for(const options& chosen, const std::string& folder);

// A side by its name: leasehold, library (the client library), connection (leasehold's own).
std::unique_ptr<side> make_side(const std::string& by, const workload& what, const place& where);

class program {
public:
    explicit program(const options& chosen);
    ~program();

    void run(const std::vector<step>& plan);

private:
    std::function<double()> server_cpu() const;
    contender contender_of(const std::string& by, const workload& what, place where);
    // Through a relay that counts them, by one thread; nothing where there is no server.
    std::map<std::string, double> round_trips(const step& what);
    // The history of PostgreSQL's tables so far, grouped by their owner.
    struct growth {
        double cold_updates = 0;
        double dead_rows = 0;
        double changes = 0;
    };
    std::map<std::string, growth> look_at_tables();
    void add_growth(const std::map<std::string, growth>& before, report& to);
    void run(const step& what);
    void print(const report& made) const;

    const options chosen_;
    const testing::folder folder_;
    room room_;
    gauges gauges_;
};

}  // namespace leasehold::bench
