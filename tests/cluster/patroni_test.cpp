// Patroni promotes a standby by itself: a primary that is killed, one that is frozen and thaws, and
// a switchover, met by a URL of all nodes and behind HAProxy: docs/guides/patroni.md.
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "cluster/cluster.hpp"
#include "cluster/programs.hpp"
#include "support/eventually.hpp"
#include "support/findings.hpp"
#include "support/granted.hpp"

namespace leasehold::testing {
namespace {

using namespace std::chrono_literals;

// Enqueues one job after another, and keeps the numbers of those that were acknowledged.
class enqueuer {
public:
    explicit enqueuer(database db) : db_(std::move(db)), thread_{[this] { work(); }} {}
    ~enqueuer() { end(); }
    void end() {
        ends_ = true;
        thread_ = {};
    }
    const std::set<std::int64_t>& acknowledged() const { return acknowledged_; }

private:
    void work() {
        const job_queue queue{db_, "acknowledged"};
        while (!ends_) {
            try {
                acknowledged_.insert(queue.enqueue({.kind = "k"}).id);
            } catch (const error& failure) {
                if (failure.is_transient() || failure.outcome_is_unknown()) continue;
                ADD_FAILURE() << failure.what();
                return;
            }
        }
    }

    database db_;
    std::set<std::int64_t> acknowledged_;
    std::atomic<bool> ends_ = false;
    thread thread_;
};

enum class path { url, proxy, proxy_that_keeps_sessions };
enum class fault { killed, frozen, switched_over };

class patroni : public ::testing::TestWithParam<std::tuple<fault, path>> {
protected:
    static constexpr std::chrono::seconds patience{90};

    void SetUp() override { cluster_.control(0, "wait"); }
    void TearDown() override { cluster_.control(primary(), "wait"); }

    bool is_primary(std::size_t node) const {
        try {
            cluster_.control(node, "is-primary");
        } catch (const std::exception&) {
            return false;
        }
        return true;
    }
    std::size_t primary() const {
        std::size_t found = cluster_.size();
        EXPECT_TRUE(eventually(
            [&] {
                for (found = 0; found < cluster_.size(); ++found) {
                    if (is_primary(found)) return true;
                }
                return false;
            },
            patience
        ));
        return found;
    }
    database open() const {
        database_settings settings;
        settings.statement_timeout = 2s;
        const auto way = std::get<path>(GetParam());
        if (way == path::url) return cluster_.open_all(std::move(settings));
        std::istringstream proxies{std::getenv("LEASEHOLD_TEST_CLUSTER_PROXIES")};
        std::string with, without;
        proxies >> with >> without;
        return cluster_.open_at(way == path::proxy ? with : without, std::move(settings));
    }
    bool go_on(const programs& all, int more) const {
        const int before = all.grants();
        return eventually([&] { return all.grants() > before + more; }, patience);
    }
    // Returns when another node is the primary.
    void change_primary(const programs& all) const {
        const std::size_t former = primary();
        switch (std::get<fault>(GetParam())) {
            case fault::killed:
                cluster_.control(former, "kill");
                EXPECT_TRUE(go_on(all, 200));
                cluster_.control(former, "start");
                break;
            case fault::frozen:
                cluster_.control(former, "pause");
                EXPECT_TRUE(go_on(all, 200)) << "while the former primary is frozen";
                cluster_.control(former, "resume");
                break;
            case fault::switched_over:
                cluster_.control(former, "switchover");
                break;
        }
        EXPECT_NE(primary(), former);
    }

    const cluster cluster_;
};

TEST_P(patroni, keeps_what_was_acknowledged) {
    session keeper{open(), {.name = "keeper", .ttl = 90s}};
    auto kept = mutex{keeper, "kept"}.try_acquire();
    ASSERT_TRUE(kept);
    programs all{4, [&] { return open(); }, 90s};
    enqueuer jobs{open()};
    ASSERT_TRUE(go_on(all, 100));
    change_primary(all);
    EXPECT_TRUE(go_on(all, 200));
    all.end();
    jobs.end();
    all.print();
    EXPECT_EQ(all.overlaps(), 0);
    EXPECT_EQ(all.repeated(), 0);
    EXPECT_TRUE(all.are_live());
    EXPECT_TRUE(kept->verify());
    session other{open(), {.name = "other"}};
    EXPECT_FALSE(is_granted(mutex{other, "kept"}.try_acquire()));

    std::set<std::int64_t> there;
    const auto found = open().execute("SELECT id FROM " + cluster_.prefix() + "job");
    for (const row& each : found.rows) there.insert(each.integer(0));
    int missing = 0;
    for (const std::int64_t each : jobs.acknowledged()) {
        if (there.count(each) == 0) ++missing;
    }
    std::printf("%zu jobs acknowledged, %d missing\n", jobs.acknowledged().size(), missing);
    EXPECT_EQ(missing, 0);
}

void expect_doctor_says(const std::string& words) {
    const cluster all;
    const auto found = examined(all.open_all(), "patroni");
    ASSERT_TRUE(found);
    EXPECT_NE(found->what.find(words), std::string::npos) << found->what;
}

TEST(patroni_strict, is_recognised_by_the_doctor) {
    expect_doctor_says("strict is set cannot be seen from here");
}

TEST(patroni_asynchronous, is_recognised_by_the_doctor) {
    expect_doctor_says("synchronous_mode is off");
}

TEST(patroni_synchronous, is_recognised_by_the_doctor) {
    expect_doctor_says("strict is set cannot be seen from here");
}

// Without strict mode Patroni takes the last standby out of synchronous_standby_names when it has
// gone, and commits wait for nobody.
TEST(patroni_synchronous, grants_nothing_to_whoever_requires_a_standby_when_all_have_gone) {
    constexpr std::chrono::seconds patience{90};
    const cluster all;
    all.control(0, "wait");
    const auto open = [&](bool requires_standby) {
        database_settings settings;
        settings.statement_timeout = 2s;
        settings.requires_standby = requires_standby;
        return all.open_all(std::move(settings));
    };
    session careful{open(true), {.name = "careful", .ttl = 10min}};
    session careless{open(false), {.name = "careless", .ttl = 10min}};
    std::string refusal;
    const auto granted_to = [&](session& whom) {
        try {
            return is_granted(mutex{whom, whom.settings().name}.try_acquire());
        } catch (const error& failure) {
            EXPECT_TRUE(failure.is_transient()) << failure.what();
            refusal = failure.what();
            return false;
        }
    };
    ASSERT_TRUE(granted_to(careful));
    std::vector<std::size_t> standbys;
    for (std::size_t node = 0; node < all.size(); ++node) {
        try {
            all.control(node, "is-primary");
        } catch (const std::exception&) {
            standbys.push_back(node);
        }
    }
    ASSERT_EQ(standbys.size(), 2U);
    // The synchronous one goes last. Patroni 3.0.2 keeps the name of a standby that goes while it
    // takes the place of another one, and commits wait for it.
    const auto synchronous = open(false).execute(
        "SELECT application_name FROM pg_stat_replication WHERE sync_state = 'sync'"
    );
    const std::string last = synchronous.rows.at(0).text(0);
    if (last == "node" + std::to_string(standbys[0] + 1)) std::swap(standbys[0], standbys[1]);
    for (const std::size_t each : standbys) all.control(each, "kill");
    EXPECT_TRUE(eventually([&] { return granted_to(careless); }, patience));
    EXPECT_FALSE(granted_to(careful));
    EXPECT_NE(refusal.find("standby"), std::string::npos) << refusal;
    for (const std::size_t each : standbys) all.control(each, "start");
    EXPECT_TRUE(eventually([&] { return granted_to(careful); }, patience));
    all.control(0, "wait");
}

std::string name_of_case(const ::testing::TestParamInfo<std::tuple<fault, path>>& each) {
    static constexpr std::array faults{"killed", "frozen", "switched_over"};
    static constexpr std::array paths{"url", "proxy", "proxy_that_keeps_sessions"};
    const auto [what, way] = each.param;
    return std::string{faults.at(static_cast<std::size_t>(what))} + "_by_" +
           paths.at(static_cast<std::size_t>(way));
}

INSTANTIATE_TEST_SUITE_P(
    primaries,
    patroni,
    ::testing::Combine(
        ::testing::Values(fault::killed, fault::frozen, fault::switched_over),
        ::testing::Values(path::url, path::proxy, path::proxy_that_keeps_sessions)
    ),
    name_of_case
);

}  // namespace
}  // namespace leasehold::testing
