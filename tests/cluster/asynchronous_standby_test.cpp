// A standby of PostgreSQL's that no commit waits for: who is warned of it, which writes a fail-over
// forgets, and the setting with which a program refuses to work so.
#include <optional>

#include "cluster/standbys.hpp"
#include "leasehold/leasehold.hpp"
#include "support/eventually.hpp"
#include "support/findings.hpp"
#include "support/granted.hpp"
#include "support/thread.hpp"

namespace leasehold::testing {
namespace {

using namespace std::chrono_literals;

class asynchronous_standby : public standbys {
protected:
    std::int64_t streams() const {
        return integer(
            primary(), "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'"
        );
    }
    // Returns when the server has read the setting.
    void let_commits_wait_for(const std::string& names) const {
        cluster_.control(primary(), "set synchronous_standby_names '" + names + "'");
        const std::string is_set =
            "SELECT (current_setting('synchronous_standby_names') = '" + names + "')::int";
        ASSERT_TRUE(eventually([&] { return integer(primary(), is_set) == 1; }));
    }
};

TEST_F(asynchronous_standby, is_warned_of) {
    open().execute("SELECT 1");
    EXPECT_FALSE(warnings_->has("waits for none of them"));
    session one{open(), {.name = "one"}};
    EXPECT_TRUE(warnings_->has("waits for none of them"));
}

// There was no standby at the first use.
TEST_F(asynchronous_standby, that_is_attached_later_is_warned_of) {
    cluster_.control(standby(), "kill");
    ASSERT_TRUE(eventually([&] { return streams() == 0; }));
    const database db = open();
    session one{db, {.name = "one", .ttl = long_ttl, .heartbeat_every = 300ms}};
    EXPECT_TRUE((mutex{one, "key"}.try_acquire()));
    EXPECT_FALSE(warnings_->has("waits for none of them"));
    cluster_.control(standby(), "start");
    ASSERT_TRUE(eventually([&] { return streams() == 1; }));
    // The set-up of each connection warns.
    std::vector<transaction> all;
    for (int each = 0; each < 3; ++each) all.push_back(db.begin());
    EXPECT_TRUE(warnings_->has("waits for none of them"));
}

TEST_F(asynchronous_standby, that_is_attached_later_is_warned_of_by_heartbeats) {
    cluster_.control(standby(), "kill");
    ASSERT_TRUE(eventually([&] { return streams() == 0; }));
    const database db = open();
    session one{db, {.name = "one", .ttl = long_ttl, .heartbeat_every = 300ms}};
    EXPECT_FALSE(warnings_->has("waits for none of them"));
    cluster_.control(standby(), "start");
    EXPECT_TRUE(eventually([&] { return warnings_->has("waits for none of them"); }, 60s));
}

TEST_F(asynchronous_standby, that_commits_no_longer_wait_for_is_warned_of_by_heartbeats) {
    let_commits_wait_for("*");
    session one{open(), {.name = "one", .ttl = long_ttl, .heartbeat_every = 300ms}};
    EXPECT_FALSE(warnings_->has("waits for none of them"));
    let_commits_wait_for("");
    EXPECT_TRUE(eventually([&] { return warnings_->has("waits for none of them"); }, 60s));
}

// A cluster manager takes the last standby out of the setting when the standby has gone.
TEST_F(asynchronous_standby, that_has_gone_and_is_waited_for_no_longer_is_warned_of) {
    let_commits_wait_for("*");
    const database db = open();
    session one{db, {.name = "one", .ttl = long_ttl, .heartbeat_every = 300ms}};
    cluster_.control(standby(), "kill");
    ASSERT_TRUE(eventually([&] { return streams() == 0; }));
    EXPECT_FALSE(warnings_->has("waits for no standby any more"));
    let_commits_wait_for("");
    // Heartbeats and the set-up of each connection warn.
    std::vector<transaction> all;
    for (int each = 0; each < 3; ++each) all.push_back(db.begin());
    EXPECT_TRUE(eventually([&] { return warnings_->has("waits for no standby any more"); }));
}

// Grants, runs, jobs and the row of a session, as in an outage. A lease that is held is kept for
// its ttl.
TEST_F(asynchronous_standby, that_is_required_refuses_what_no_commit_waits_for) {
    database_settings settings;
    settings.statement_timeout = 2s;
    settings.requires_standby = true;
    const database db = cluster_.open_all(settings, primary());
    const auto is_refused = [](const auto& call) {
        try {
            call();
            return false;
        } catch (const error& failure) {
            EXPECT_TRUE(failure.is_transient());
            EXPECT_FALSE(failure.outcome_is_unknown());
            EXPECT_NE(std::string{failure.what()}.find("requires_standby"), std::string::npos);
            return failure.code() == errc::transient;
        }
    };
    EXPECT_TRUE(is_refused([&] { session{db, {.name = "none"}}.is_live(); }));
    let_commits_wait_for("*");
    std::optional<session> one;
    ASSERT_TRUE(eventually([&] {
        return !is_refused([&] { one.emplace(db, session_settings{.name = "one", .ttl = 20s}); });
    }));
    auto held = mutex{*one, "required"}.try_acquire();
    ASSERT_TRUE(held);
    let_commits_wait_for("");
    ASSERT_TRUE(eventually([&] {
        return is_refused([&] { (void)mutex{*one, "required/other"}.try_acquire(); });
    }));
    EXPECT_TRUE(is_refused([&] {
        (void)multi_lock{*one, {"required/a", "required/b"}}.try_acquire();
    }));
    EXPECT_TRUE(is_refused([&] { job_queue{db, "required"}.enqueue({.kind = "any"}); }));
    EXPECT_TRUE(is_refused([&] {
        transaction tx = db.begin();
        (void)mutex{*one, "required/in"}.try_acquire_in(tx);
    }));
    EXPECT_TRUE(held->held_locally()) << "an outage that is shorter than the ttl";
    let_commits_wait_for("*");
    EXPECT_TRUE(eventually_well([&] {
        return is_granted(mutex{*one, "required/other"}.try_acquire());
    }));
    EXPECT_TRUE(one->is_live());
    let_commits_wait_for("");
    EXPECT_EQ(held->release(), release_outcome::released) << "a release is not refused";
    EXPECT_TRUE(eventually([&] { return !one->is_live(); }, 60s)) << "no heartbeat counts";
}

TEST_F(asynchronous_standby, is_a_warning_of_the_doctors) {
    const auto told = examined(open(), "replication");
    ASSERT_TRUE(told);
    EXPECT_EQ(told->severity, severity::warning) << told->what;
    const auto weak = examined(open(), "weak_durability");
    EXPECT_TRUE(!weak || weak->what.find("standby") == std::string::npos) << "it is said once";
}

TEST_F(asynchronous_standby, who_is_forgotten_is_told) {
    session one{open(), {.name = "one", .ttl = long_ttl, .heartbeat_every = 500ms}};
    session other{open(), {.name = "other", .ttl = long_ttl, .heartbeat_every = 500ms}};
    const std::string sessions = "SELECT count(*) FROM " + cluster_.prefix() + "session";
    ASSERT_TRUE(eventually([&] { return integer(standby(), sessions) == 2; }));
    cluster_.control(standby(), "hold");
    auto forgotten = mutex{one, "key"}.try_acquire();
    ASSERT_TRUE(forgotten);
    EXPECT_TRUE(forgotten->verify());
    cluster_.control(primary(), "kill");
    promote(standby());
    // The data there is does not have the grant: the key is free, and its next token the same.
    std::optional<lease> next;
    ASSERT_TRUE(eventually_well([&] {
        if (auto got = mutex{other, "key"}.try_acquire()) next.emplace(std::move(*got));
        return next.has_value();
    }));
    EXPECT_EQ(next->token().number, forgotten->token().number);
    EXPECT_TRUE(eventually([&] { return !forgotten->held_locally(); }, 20s));
    EXPECT_TRUE(one.is_live());
    EXPECT_TRUE(eventually_well([&] { return next->verify(); }));
}

}  // namespace
}  // namespace leasehold::testing
