// A quorum over all four engines at once, whose servers are killed, started again and paused: CTest
// gives it servers of its own.
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <memory>

#include "fault/server_control.hpp"
#include "leasehold/driver/mysql.hpp"
#include "leasehold/driver/postgres.hpp"
#include "leasehold/driver/sqlite.hpp"
#include "leasehold/leasehold.hpp"
#include "support/eventually.hpp"
#include "support/granted.hpp"
#include "support/required.hpp"

namespace leasehold::testing {
namespace {

using namespace std::chrono_literals;

struct warnings final : observer {
    void on_event(const event& what) noexcept override {
        if (what.kind == event_kind::warning && what.number == 4) ++count;
    }
    std::atomic<int> count = 0;
};

class mixed_quorum : public ::testing::Test {
protected:
    void SetUp() override {
        std::filesystem::create_directory(folder_);
        for (const database& each : all_with(patient())) migrate(each);
    }
    void TearDown() override {
        for (const database& each : all_with(patient())) migrate_down(each, 0);
        std::filesystem::remove_all(folder_);
    }

    // The time-outs are those of the default: migrating is not what is to end in time.
    database_settings patient() const {
        database_settings made;
        made.names.prefix = prefix_;
        return made;
    }
    database_settings settings() const {
        database_settings made = patient();
        made.connect_timeout = 1s;
        made.pool_timeout = 1s;
        made.statement_timeout = 1s;
        made.observer = told_;
        return made;
    }
    // Pools of their own at each call, as another process has them.
    database sqlite_with(const database_settings& chosen) const {
        return sqlite::open("sqlite:" + (folder_ / "one.db").string(), chosen);
    }
    std::vector<database> all_with(const database_settings& chosen) const {
        return {
            sqlite_with(chosen),
            postgres::open(postgres_url_, chosen),
            mysql::open(mariadb_url_, chosen),
            mysql::open(mysql_url_, chosen)};
    }
    database sqlite_one() const { return sqlite_with(settings()); }
    database postgres_one() const { return postgres::open(postgres_url_, settings()); }
    database mariadb_one() const { return mysql::open(mariadb_url_, settings()); }
    database mysql_one() const { return mysql::open(mysql_url_, settings()); }
    std::vector<database> all() const { return all_with(settings()); }
    static quorum_settings timing(const char* name) {
        quorum_settings made;
        made.session.name = name;
        made.session.ttl = 5min;
        made.session.reap_every = {};
        made.server_timeout = 5s;
        return made;
    }

    const std::string postgres_url_ = require_url("postgres");
    const std::string mariadb_url_ = require_url("mariadb");
    const std::string mysql_url_ = require_url("mysql");
    const std::string prefix_ = fresh_prefix();
    const std::filesystem::path folder_ =
        std::filesystem::temp_directory_path() / ("leasehold_quorum_" + prefix_);
    const std::shared_ptr<warnings> told_ = std::make_shared<warnings>();
    const key name_{"k"};
};

TEST_F(mixed_quorum, engines_take_part_as_equals_and_an_even_number_is_warned_of) {
    quorum here{all(), timing("here")}, there{all(), timing("there")};
    EXPECT_EQ(told_->count, 2);
    EXPECT_EQ(here.needed(), 3U);
    auto held = quorum_lock{here, name_}.try_acquire();
    ASSERT_TRUE(held);
    EXPECT_EQ(held.servers().granted, 4U);
    EXPECT_FALSE(is_granted(quorum_lock{there, name_}.try_acquire()));
    EXPECT_EQ(held->release(), release_outcome::released);
    EXPECT_TRUE((quorum_lock{there, name_}.try_acquire()));
}

TEST_F(mixed_quorum, a_killed_minority_is_done_without_and_a_paused_majority_is_refused_in_time) {
    quorum here{all(), timing("here")};
    quorum_lock lock{here, name_};
    server_control postgres_server{"postgres"}, mariadb_server{"mariadb"};
    postgres_server.kill();
    {
        auto held = lock.try_acquire();
        ASSERT_TRUE(held);
        EXPECT_EQ(held.servers().granted, 3U);
        EXPECT_TRUE(held->verify());
    }
    mariadb_server.pause();
    const auto start = local_clock::now();
    auto refused = lock.try_acquire();
    EXPECT_LT(local_clock::now() - start, 5s + 5s + 1s);  // to ask, and to give back
    EXPECT_FALSE(refused);
    EXPECT_EQ(refused.servers().failed, 2U);
    for (const database& each : {sqlite_one(), mysql_one()}) {
        EXPECT_TRUE(eventually([&] {
            const auto seen = describe(each, name_);
            return !seen || !seen->is_held;
        }));
    }
    mariadb_server.resume();
    postgres_server.start();
    const auto all_grant = [&] {
        const auto got = lock.try_acquire();
        return got.servers().granted == 4;
    };
    EXPECT_TRUE(eventually(all_grant, 60s));
}

// With the two that are left it would be a majority, if the one that was killed had forgotten.
TEST_F(mixed_quorum, a_server_that_is_killed_and_starts_with_its_data_keeps_its_word) {
    const auto three = [&] { return std::vector{sqlite_one(), postgres_one(), mariadb_one()}; };
    session other{sqlite_one(), timing("other").session};
    auto in_the_way = mutex{other, name_}.try_acquire();
    quorum here{three(), timing("here")};
    auto held = quorum_lock{here, name_}.try_acquire();
    ASSERT_TRUE(held);
    EXPECT_EQ(held.servers().granted, 2U);
    in_the_way->release();
    {
        server_control postgres_server{"postgres"};
        postgres_server.kill();
        postgres_server.start();
    }
    quorum there{three(), timing("there")};
    quorum_acquisition::answers said;
    ASSERT_TRUE(eventually(
        [&] {
            auto refused = quorum_lock{there, name_}.try_acquire();
            EXPECT_FALSE(refused);
            said = refused.servers();
            return said.failed == 0;
        },
        60s
    ));
    EXPECT_EQ(said.granted, 1U);
    EXPECT_EQ(said.busy, 2U);
    EXPECT_TRUE(eventually([&] { return held->verify(); }));
    EXPECT_FALSE(held->lost().stop_requested());
    EXPECT_EQ(held->release(), release_outcome::released);
    EXPECT_TRUE((quorum_lock{there, name_}.acquire_for(20s)));
}

// Before anything is sent, and whether the handle was used before or not.
TEST_F(mixed_quorum, a_guard_refuses_a_transaction_of_another_engine) {
    const database other = postgres_one();
    for (const bool was_used : {false, true}) {
        const database guarded = sqlite_one();
        if (was_used) (void)fence_guard{guarded}.highest("stock");
        transaction tx = other.begin();
        try {
            fence_guard{guarded}.admit_in(tx, "stock", {7});
            ADD_FAILURE() << "admitted in another database";
        } catch (const error& refused) {
            EXPECT_EQ(refused.code(), errc::wrong_transaction) << refused.what();
        }
        tx.rollback();
        EXPECT_FALSE(fence_guard{guarded}.highest("stock")) << "the handle is as good as before";
    }
    EXPECT_FALSE(fence_guard{other}.highest("stock"));
}

}  // namespace
}  // namespace leasehold::testing

int main(int count, char** arguments) {
    ::testing::InitGoogleTest(&count, arguments);
    return RUN_ALL_TESTS();
}
