// Eight processes with four threads each drain a table; some are killed on the way. Every row is
// done exactly once. LEASEHOLD_DRAIN_ROWS says how many there are: 4000, in earnest 100000.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <random>

#include "claim/way.hpp"
#include "fault/child.hpp"
#include "fault/where.hpp"
#include "support/eventually.hpp"
#include "support/patient.hpp"
#include "support/required.hpp"

namespace leasehold::testing {
namespace {

using namespace std::chrono_literals;

constexpr int processes = 8;
constexpr int threads = 4;
constexpr int max_kills = 12;

class drain_test : public ::testing::TestWithParam<const char*> {
protected:
    void SetUp() override {
        // The first has leasehold's own transactions.
        way_.emplace(open_way(way_names().at(0)));
        look_.emplace(way_->open(patient()));  // on SQLite it has its turn among all that write
        engine_ = way_->db.server().engine;
        const char* const wanted = std::getenv("LEASEHOLD_DRAIN_ROWS");
        rows_ = wanted ? std::stoll(wanted) : 4000;
        table_ = fresh_prefix() + "task";
        fill();
    }
    void TearDown() override {
        run("DROP TABLE " + table_);
        run("DROP TABLE " + table_ + "_done");
    }

    result run(const std::string& sql) {
        transaction tx = look_->begin();
        result said = tx.execute(sql);
        tx.commit();
        return said;
    }
    std::int64_t count(const std::string& what) {
        return run("SELECT COUNT(" + what + ") FROM " + table_ + "_done").rows.at(0).integer(0);
    }

    // Says what is wrong: every row must be done, and once. Empty where that is so.
    std::string wrong() {
        const std::int64_t done = count("*");
        const std::int64_t different = count("DISTINCT id");
        std::string said;
        if (done > different) said += std::to_string(done - different) + " done twice ";
        if (different < rows_) said += std::to_string(rows_ - different) + " never done ";
        return said;
    }

    void fill() {
        const bool is_mysql = engine_ == engine::mysql || engine_ == engine::mariadb;
        const std::string time = is_mysql                      ? "TIMESTAMP(6) NULL"
                                 : engine_ == engine::postgres ? "TIMESTAMPTZ"
                                                               : "TEXT";
        const std::string options = is_mysql ? " ENGINE=InnoDB" : "";
        run("CREATE TABLE " + table_ + " (id BIGINT PRIMARY KEY, state VARCHAR(10) NOT NULL, " +
            "priority BIGINT NOT NULL, version BIGINT NOT NULL, worker VARCHAR(255), expires_at " +
            time + ")" + options);
        run("CREATE INDEX " + table_ + "_ix ON " + table_ + " (state, priority, id)");
        run("CREATE TABLE " + table_ + "_done (id BIGINT NOT NULL)" + options);
        constexpr std::int64_t rows_per_statement = 1000;
        for (std::int64_t first = 0; first < rows_; first += rows_per_statement) {
            std::string values;
            const auto last = std::min(rows_, first + rows_per_statement);
            for (std::int64_t id = first; id < last; ++id) {
                values += (id == first ? "(" : ", (") + std::to_string(id) + ", 'ready', " +
                          std::to_string(id % 3) + ", 1)";
            }
            run("INSERT INTO " + table_ + " (id, state, priority, version) VALUES " + values);
        }
    }

    std::unique_ptr<child> start() {
        return std::make_unique<child>(std::vector<std::string>{
            beside_this_program("claim_drain_worker_" + worker_name()),
            url_of(std::string(name_of(engine_)), way_->db),
            table_,
            GetParam(),
            std::to_string(threads)});
    }
    std::string worker_name() const {
        return engine_ == engine::mariadb ? "mysql" : std::string(name_of(engine_));
    }

    std::optional<way> way_;
    std::optional<database> look_;
    engine engine_{};
    std::int64_t rows_ = 0;
    std::string table_;
};

TEST_P(drain_test, every_row_is_done_exactly_once_although_processes_are_killed) {
    std::mt19937 random{static_cast<unsigned>(seed())};
    const auto begin = std::chrono::steady_clock::now();
    std::vector<std::unique_ptr<child>> workers;
    for (int each = 0; each < processes; ++each) workers.push_back(start());
    int kills = 0;
    for (int next = 1; next <= max_kills; ++next) {
        // Spread over the whole drain.
        const std::int64_t mark = rows_ * next / (max_kills + 2);
        ASSERT_TRUE(eventually([&] { return count("*") >= mark; }, 600s))
            << "the drain stands still";
        auto& victim = workers.at(random() % workers.size());
        victim->kill();
        victim = start();
        ++kills;
    }
    for (auto& each : workers) EXPECT_EQ(each->line(600s), "empty");
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    std::printf(
        "%s, %s: %lld rows in %.1f s, %d processes killed\n",
        std::string(name_of(engine_)).c_str(),
        GetParam(),
        static_cast<long long>(rows_),
        took.count(),
        kills
    );
    EXPECT_EQ(wrong(), "");
}

// Without the claim the same tasks, the same workers and the same look find rows done twice.
class drain_control : public drain_test {};

TEST_P(drain_control, without_the_claim_rows_are_done_twice) {
    std::vector<std::unique_ptr<child>> workers;
    for (int each = 0; each < processes; ++each) workers.push_back(start());
    for (auto& each : workers) EXPECT_EQ(each->line(600s), "empty");
    EXPECT_NE(wrong().find("done twice"), std::string::npos) << "nothing would have shown";
}

INSTANTIATE_TEST_SUITE_P(by, drain_control, ::testing::Values("unguarded"), [](const auto& each) {
    return std::string{each.param};
});

INSTANTIATE_TEST_SUITE_P(
    by,
    drain_test,
    ::testing::Values("versioned", "rows"),
    [](const auto& each) { return std::string{each.param}; }
);

}  // namespace
}  // namespace leasehold::testing
