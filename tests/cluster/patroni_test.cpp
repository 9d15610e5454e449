// Patroni promotes a standby by itself: a primary that is killed, one that is frozen and thaws, one
// that is cut off, and a switchover, met by a URL of all nodes and behind HAProxy:
// docs/guides/patroni.md.
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
#include "cluster/standbys.hpp"
#include "support/eventually.hpp"
#include "support/findings.hpp"
#include "support/folder.hpp"
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
enum class fault { killed, frozen, cut_off, switched_over };

class patroni_nodes : public ::testing::Test {
protected:
    static constexpr std::chrono::seconds timeout{90};

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
            timeout
        ));
        return found;
    }
    // Each of them, and all together.
    static bool go_on(const programs& all, int more) {
        const int before = all.grants(), fewest = all.fewest_grants();
        return eventually(
            [&] { return all.grants() > before + more && all.fewest_grants() > fewest; }, timeout
        );
    }
    // Longer than Patroni waits for a primary, by its own settings and by the defaults.
    void freeze(std::size_t node, const programs& all) const {
        const auto end = local_clock::now() + 40s;
        cluster_.control(node, "pause");
        EXPECT_TRUE(go_on(all, 200)) << "while the former primary is frozen";
        while (local_clock::now() < end) ASSERT_TRUE(go_on(all, 10));
    }

    const cluster cluster_;
};

class patroni : public patroni_nodes,
                public ::testing::WithParamInterface<std::tuple<fault, path>> {
protected:
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
                freeze(former, all);
                cluster_.control(former, "resume");
                break;
            case fault::cut_off:
                cluster_.control(former, "isolate");
                EXPECT_TRUE(eventually([&] { return primary() != former; }, timeout));
                EXPECT_TRUE(go_on(all, 200)) << "while the former primary is cut off";
                cluster_.control(former, "rejoin");
                break;
            case fault::switched_over:
                cluster_.control(former, "switchover");
                break;
        }
        EXPECT_NE(primary(), former);
    }
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

// By etcd's v3 API a primary that thaws may take the leader key back from the promoted node, which
// Patroni then rewinds: patroni#2689 and #2693. Each test says which node Patroni has chosen.
class patroni_etcd3 : public patroni_nodes {
protected:
    static constexpr std::chrono::minutes long_ttl{5};

    database open() const {
        database_settings settings;
        settings.statement_timeout = 2s;
        settings.observer = warnings_;
        return cluster_.open_all(std::move(settings));
    }
    std::int64_t integer(std::size_t node, const std::string& sql) const {
        return cluster_.open(node).execute(sql).rows.at(0).integer(0);
    }
    // The primary that both others stream from. What a thawed server says of its former standbys is
    // older than the freeze.
    std::size_t settled() const {
        constexpr auto streams =
            "SELECT count(*) FROM pg_stat_replication WHERE NOT pg_is_in_recovery() AND "
            "state = 'streaming' AND reply_time > now() - interval '20 s'";
        std::size_t found = cluster_.size();
        EXPECT_TRUE(eventually(
            [&] {
                found = primary();
                try {
                    return integer(found, streams) == 2 && is_primary(found);
                } catch (const error&) {
                    return false;
                }
            },
            2 * timeout
        ));
        return found;
    }
    // Says whether the handle of this session refuses a server, in these words.
    static bool refuses(session& of, const std::string& words) {
        try {
            EXPECT_FALSE(is_granted(mutex{of, "refused"}.try_acquire()));
            return false;
        } catch (const error& failure) {
            EXPECT_TRUE(failure.is_transient() || failure.outcome_is_unknown()) << failure.what();
            return std::string{failure.what()}.find(words) != std::string::npos;
        }
    }

    const std::shared_ptr<heard_warnings> warnings_ = std::make_shared<heard_warnings>();
};

TEST_F(patroni_etcd3, a_primary_that_takes_the_key_back_is_refused_by_running_programs) {
    session one{open(), {.name = "one", .ttl = long_ttl, .heartbeat_every = 1s}};
    auto held = mutex{one, "held"}.try_acquire();
    ASSERT_TRUE(held);
    programs all{4, [&] { return open(); }, long_ttl};
    ASSERT_TRUE(go_on(all, 100));
    const std::size_t former = primary();
    freeze(former, all);
    const std::size_t promoted = primary();
    ASSERT_NE(promoted, former);
    // The former primary knows neither of these two grants.
    ASSERT_TRUE((mutex{one, "report"}.try_acquire()));
    auto report = mutex{one, "report"}.try_acquire();
    ASSERT_TRUE(report);
    const folder files;
    const fence_file guard{files / "fence"};
    guard.admit(report->token(), [] {});

    cluster_.control(former, "resume");
    const std::size_t chosen = settled();
    ASSERT_TRUE(chosen == former || chosen == promoted);
    std::printf("the %s node is the primary\n", chosen == former ? "former" : "promoted");
    if (chosen == promoted) {
        EXPECT_TRUE(go_on(all, 200));
        EXPECT_TRUE(held->verify());
        EXPECT_TRUE(report->verify());
    } else {
        EXPECT_TRUE(eventually([&] { return refuses(one, "is a former primary"); }));
        EXPECT_TRUE(warnings_->has("is a former primary"));
        const std::string beats = "SELECT count(*) FROM " + cluster_.prefix() +
                                  "session WHERE heartbeat_at > now() - interval '1500 ms'";
        EXPECT_EQ(integer(former, beats), 0);
        // A program that was started later cannot know.
        session fresh{open(), {.name = "fresh"}};
        auto again = mutex{fresh, "report"}.try_acquire();
        ASSERT_TRUE(again);
        EXPECT_LT(again->token().number, report->token().number);
        EXPECT_THROW(guard.admit(again->token(), [] {}), error);
        EXPECT_TRUE(again->verify());
        // The next promotion begins a timeline of the number that these programs have used.
        cluster_.control(former, "wait");
        cluster_.control(former, "switchover");
        const std::size_t third = settled();
        ASSERT_NE(third, former);
        EXPECT_TRUE(eventually([&] { return is_granted(mutex{fresh, "next"}.try_acquire()); }));
        EXPECT_TRUE(eventually([&] { return refuses(one, "another branch of timeline"); }));
        EXPECT_TRUE(warnings_->has("another branch of timeline"));
    }
    all.end();
    all.print();
    EXPECT_EQ(all.overlaps(), 0);
    EXPECT_EQ(all.repeated(), 0);
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
    constexpr std::chrono::seconds timeout{90};
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
    EXPECT_TRUE(eventually([&] { return granted_to(careless); }, timeout));
    EXPECT_FALSE(granted_to(careful));
    EXPECT_NE(refusal.find("standby"), std::string::npos) << refusal;
    for (const std::size_t each : standbys) all.control(each, "start");
    EXPECT_TRUE(eventually([&] { return granted_to(careful); }, timeout));
    all.control(0, "wait");
}

std::string name_of_case(const ::testing::TestParamInfo<std::tuple<fault, path>>& each) {
    static constexpr std::array faults{"killed", "frozen", "cut_off", "switched_over"};
    static constexpr std::array paths{"url", "proxy", "proxy_that_keeps_sessions"};
    const auto [what, way] = each.param;
    return std::string{faults.at(static_cast<std::size_t>(what))} + "_by_" +
           paths.at(static_cast<std::size_t>(way));
}

INSTANTIATE_TEST_SUITE_P(
    primaries,
    patroni,
    ::testing::Combine(
        ::testing::Values(fault::killed, fault::frozen, fault::cut_off, fault::switched_over),
        ::testing::Values(path::url, path::proxy, path::proxy_that_keeps_sessions)
    ),
    name_of_case
);

}  // namespace
}  // namespace leasehold::testing
