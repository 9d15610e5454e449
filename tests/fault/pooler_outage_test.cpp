// Through a pooler, whose connections outlive the server behind it: nothing that a session has
// breaks when that is replaced by one which is behind. Serial, as outage_test.cpp:
// fault_pooler.postgres.
#include "fault/server_control.hpp"
#include "fault/suite.hpp"

namespace leasehold::testing {
namespace {

class pooler_outage : public server_suite {};

TEST_F(pooler_outage, a_grant_that_a_fail_over_lost_is_told_to_its_holder) {
    server_control control{current().name};
    database_settings patient;
    patient.pool_timeout = 60s;
    const database db = current().open(patient);
    const auto wait_for_answer = [&] {
        EXPECT_TRUE(
            eventually([&] { return !thrown_by([&] { (void)describe(db, key{"any"}); }); }, 60s)
        );
    };
    auto settings = calm("one");
    settings.ttl = 10min;
    settings.heartbeat_every = 15s;  // for a server that is replaced between two of them
    session one{db, settings};
    auto kept = mutex{one, fresh("kept")}.try_acquire();
    ASSERT_TRUE(kept);
    control.stop();
    control.keep();
    control.start();
    wait_for_answer();
    const auto deadline = one.deadline();
    ASSERT_TRUE(eventually([&] { return one.deadline() > deadline; }, 60s));
    auto held = mutex{one, fresh("k")}.try_acquire();
    ASSERT_TRUE(held);
    control.stop();
    control.put_back();
    control.start();
    wait_for_answer();
    EXPECT_TRUE(stopped(held->lost(), 60s));
    EXPECT_EQ(held->why_lost(), loss_reason::taken_over);
    EXPECT_TRUE(one.is_live());
    EXPECT_FALSE(kept->lost().stop_requested());
    EXPECT_TRUE(kept->verify());
}

// Other clients have all of the pooler's sessions for longer than it lets anybody wait for one:
// fault_pooler_full.postgres, where it has three.
class pooler_full : public server_suite {};

TEST_F(pooler_full, a_session_outlives_statements_that_the_pooler_gave_up) {
    constexpr int sessions = 3;
    const auto log = std::make_shared<event_log>();
    database_settings settings;
    settings.observer = log;
    const database db = current().open(settings), others = current().open({});
    session one{db, alert("one")};
    auto held = mutex{one, fresh("k")}.try_acquire();
    ASSERT_TRUE(held);
    std::vector<transaction> busy;
    for (int each = 0; each < sessions; ++each) {
        busy.push_back(others.begin());
        busy.back().execute("SELECT 1");
    }
    const auto failure = thrown_by([&] { db.execute("SELECT 1"); });
    ASSERT_TRUE(failure);
    EXPECT_TRUE(failure->is_transient()) << failure->what();
    EXPECT_TRUE(eventually([&] { return log->count(event_kind::late_heartbeat) > 0; }, 20s));
    EXPECT_TRUE(one.is_live());
    const auto deadline = one.deadline();
    busy.clear();
    EXPECT_TRUE(eventually([&] { return one.deadline() > deadline; }, 20s));
    EXPECT_TRUE(held->verify());
    EXPECT_FALSE(held->lost().stop_requested());
}

}  // namespace
}  // namespace leasehold::testing
