// PostgreSQL with synchronous standbys: a commit that waits for one that is gone, and a primary
// that is killed while programs work.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>

#include "cluster/programs.hpp"
#include "cluster/standbys.hpp"
#include "fault/relay.hpp"
#include "leasehold/leasehold.hpp"
#include "support/eventually.hpp"
#include "support/findings.hpp"
#include "support/granted.hpp"
#include "support/thread.hpp"

namespace leasehold::testing {
namespace {

using namespace std::chrono_literals;

class synchronous_standby : public standbys {};

// ------------------------------------------------------------------- a standby that is gone

TEST_F(synchronous_standby, attempts_without_it_leave_no_processes_behind) {
    constexpr int programs = 5, attempts_of_each = 10;
    std::vector<std::unique_ptr<session>> sessions;
    for (int each = 0; each < programs; ++each) {
        sessions.push_back(std::make_unique<session>(
            open(1500ms), session_settings{.name = "one", .ttl = long_ttl}
        ));
    }
    cluster_.control(primary(), "isolate");
    std::atomic<int> granted = 0, unknown = 0, others = 0;
    std::int64_t waits_most = 0;
    {
        std::vector<thread> all;
        std::atomic<int> at_work = programs;
        for (int program = 0; program < programs; ++program) {
            all.emplace_back([&, program] {
                for (int each = 0; each < attempts_of_each; ++each) {
                    const std::string name = std::to_string(program) + "/" + std::to_string(each);
                    try {
                        is_granted(mutex{*sessions.at(static_cast<std::size_t>(program)), name}
                                       .try_acquire())
                            ? ++granted
                            : ++others;
                    } catch (const error& failure) {
                        failure.outcome_is_unknown() ? ++unknown : ++others;
                    }
                }
                --at_work;
            });
        }
        const bool have_ended = eventually(
            [&] {
                waits_most = std::max(waits_most, waits_for_standby(primary()));
                return at_work == 0;
            },
            100s
        );
        EXPECT_TRUE(have_ended);
    }
    EXPECT_EQ(granted, 0);
    EXPECT_GT(unknown, 0);
    EXPECT_EQ(unknown + others, programs * attempts_of_each);
    // Each program has its attempt and the session's own, and as many that are just ending.
    constexpr int at_once = 4 * programs;
    std::printf(
        "%d attempts, %d unknown, at most %d waits at once, %d in the end\n",
        programs * attempts_of_each,
        unknown.load(),
        static_cast<int>(waits_most),
        static_cast<int>(waits_for_standby(primary()))
    );
    EXPECT_LE(waits_most, at_once);
    EXPECT_TRUE(eventually([&] { return waits_for_standby(primary()) <= programs; }));
    cluster_.control(primary(), "rejoin");
    EXPECT_TRUE(eventually([&] { return waits_for_standby(primary()) == 0; }));
    for (const auto& each : sessions) {
        EXPECT_TRUE(each->is_live());
        EXPECT_TRUE((mutex{*each, "again"}.acquire_for(20s)));
    }
}

// A grant that a cancelled wait leaves is there on the primary, for all to see, and nowhere else.
TEST_F(synchronous_standby, a_grant_that_only_the_primary_has_is_none) {
    const database db = open();
    session one{db, {.name = "one", .ttl = long_ttl}};
    cluster_.control(primary(), "isolate");
    try {
        EXPECT_FALSE(is_granted(mutex{one, "key"}.try_acquire()));
        ADD_FAILURE() << "refused";
    } catch (const error& failure) {
        EXPECT_TRUE(failure.outcome_is_unknown()) << failure.what();
    }
    const std::string there =
        "SELECT count(*) FROM " + cluster_.prefix() + "lock WHERE owner IS NOT NULL";
    EXPECT_TRUE(eventually([&] { return integer(primary(), there) == 1; }));
    EXPECT_EQ(integer(standby(), there), 0);
    cluster_.control(primary(), "kill");
    promote(standby());
    session other{open(), {.name = "other", .ttl = long_ttl}};
    auto held = mutex{other, "key"}.try_acquire();
    ASSERT_TRUE(held);
    EXPECT_EQ(held->token().number, 1);
}

// The release had no answer, and the next waiter finds the key handed over to it.
TEST_F(synchronous_standby, a_hand_over_that_only_the_primary_has_is_none) {
    session one{open(1s), {.name = "one", .ttl = long_ttl}};
    session other{open(1s), {.name = "other", .ttl = long_ttl}};
    auto held = mutex{one, "key"}.try_acquire();
    ASSERT_TRUE(held);
    std::atomic<bool> has_it = false;
    {
        const thread waits{[&] {
            try {
                if (is_granted(mutex{other, "key"}.acquire_for(10s))) has_it = true;
            } catch (const error& failure) {
                EXPECT_TRUE(failure.is_transient() || failure.outcome_is_unknown());
            }
        }};
        const std::string waiting = "SELECT count(*) FROM " + cluster_.prefix() + "waiter";
        ASSERT_TRUE(eventually([&] { return integer(standby(), waiting) == 1; }));
        cluster_.control(primary(), "isolate");
        try {
            held->release();
        } catch (const error& failure) {
            EXPECT_TRUE(failure.outcome_is_unknown()) << failure.what();
        }
        const std::string is_next = "SELECT count(*) FROM " + cluster_.prefix() +
                                    "lock WHERE owner IS NOT NULL AND fence = 2";
        EXPECT_TRUE(eventually([&] { return integer(primary(), is_next) == 1; }));
    }
    EXPECT_FALSE(has_it);
    cluster_.control(primary(), "rejoin");
}

// ------------------------------------------------------------------- the primary is killed

class promotion : public standbys {
protected:
    // Fails over beside a session that holds a key all the time, and programs that come and go.
    void fail_over_to(std::size_t next, const std::function<void()>& just_before) {
        session keeper{open(), {.name = "keeper", .ttl = 30s}};
        auto kept = mutex{keeper, "kept"}.try_acquire();
        ASSERT_TRUE(kept);
        programs all{4, [&] { return open(1s); }};
        ASSERT_TRUE(eventually([&] { return all.grants() > 200; }));
        just_before();
        const int before = all.grants();
        ASSERT_TRUE(eventually([&] { return all.grants() > before + 50; }));
        cluster_.control(primary(), "kill");
        promote(choose(next));
        const int killed_at = all.grants();
        ASSERT_TRUE(eventually([&] { return all.grants() > killed_at + 200; }));
        all.end();
        all.print();
        EXPECT_EQ(all.overlaps(), 0);
        EXPECT_EQ(all.repeated(), 0);
        EXPECT_TRUE(all.are_live());
        EXPECT_TRUE(eventually_well([&] { return kept->verify(); }));
        session other{open(), {.name = "other"}};
        EXPECT_FALSE(is_granted(mutex{other, "kept"}.try_acquire()));
    }
    virtual std::size_t choose(std::size_t next) { return next; }
};

class synchronous_promotion : public promotion {};

TEST_F(synchronous_promotion, nothing_is_lost) {
    fail_over_to(standby(), [] {});
}

// For an hour: LEASEHOLD_SOAK_SECONDS=3600.
TEST_F(synchronous_promotion, nothing_is_lost_again_and_again) {
    const char* const given = std::getenv("LEASEHOLD_SOAK_SECONDS");
    const std::chrono::seconds length{given == nullptr ? 30 : std::stoi(given)};
    const auto until = local_clock::now() + length;
    programs all{4, [&] { return open(1s); }};
    int rounds = 0;
    for (; local_clock::now() < until && !HasFailure(); ++rounds) {
        const int before = all.grants();
        ASSERT_TRUE(eventually([&] { return all.grants() > before + 100; }));
        const std::size_t former = primary();
        cluster_.control(former, "kill");
        promote(standby());
        let_follow(former);
    }
    all.end();
    all.print();
    std::printf("%d fail-overs\n", rounds);
    EXPECT_GT(rounds, 1);
    EXPECT_EQ(all.overlaps(), 0);
    EXPECT_EQ(all.repeated(), 0);
    EXPECT_TRUE(all.are_live());
}

class quorum_promotion : public promotion {
protected:
    // The last commit may have waited for either of the two: chooses the one that has more.
    std::size_t choose(std::size_t) override {
        const auto received = [&](std::size_t node) {
            return integer(
                node,
                "SELECT greatest(pg_last_wal_receive_lsn(), pg_last_wal_replay_lsn()) - "
                "'0/0'::pg_lsn"
            );
        };
        return received(standby(0)) > received(standby(1)) ? standby(0) : standby(1);
    }
};

TEST_F(quorum_promotion, nothing_is_lost_where_the_most_advanced_is_promoted) {
    fail_over_to(standby(), [&] { cluster_.control(standby(), "hold"); });
}

TEST_F(quorum_promotion, nothing_is_lost_with_remote_apply) {
    for (std::size_t node = 0; node < cluster_.size(); ++node) {
        cluster_.control(node, "set synchronous_commit remote_apply");
    }
    fail_over_to(standby(), [&] { cluster_.control(standby(1), "hold"); });
}

// ------------------------------------------------------------------- a former primary that follows

// A proxy that does not look which of its servers is the primary: it leads to the former one, which
// is a standby now, for a while.
TEST_F(synchronous_standby, that_was_the_primary_is_left_by_all_connections) {
    relay proxy{"127.0.0.1", static_cast<int>(port(primary()))};
    database_settings settings;
    settings.name = "proxied";
    settings.statement_timeout = 2s;
    settings.pool_timeout = 1500ms;
    const database db = cluster_.open_at("127.0.0.1:" + std::to_string(proxy.port()), settings);
    session one{db, {.name = "one", .ttl = long_ttl, .heartbeat_every = 300ms}};
    EXPECT_TRUE((mutex{one, "key"}.try_acquire()));
    const std::size_t former = primary();
    cluster_.control(former, "kill");
    promote(standby());
    let_follow(former);
    EXPECT_TRUE(eventually([&] {
        try {
            EXPECT_FALSE(is_granted(mutex{one, "other"}.try_acquire()));
        } catch (const error& failure) {
            EXPECT_TRUE(failure.is_transient() || failure.outcome_is_unknown()) << failure.what();
            return failure.code() == errc::read_only;
        }
        return false;
    }));
    EXPECT_TRUE(eventually_well([&] { return !list_sessions(db).empty(); })) << "it may be read";
    proxy.lead_to(static_cast<int>(port(primary())));
    EXPECT_TRUE(eventually_well([&] { return is_granted(mutex{one, "other"}.try_acquire()); }));
    EXPECT_TRUE(one.is_live());
}

TEST_F(synchronous_standby, is_not_warned_of) {
    session one{open(), {.name = "one"}};
    EXPECT_FALSE(warnings_->has("waits for none of them"));
}

// ---------------------------------------------------------------------- what the doctor says

TEST_F(synchronous_standby, is_good_to_the_doctor_and_takes_no_writes_itself) {
    std::optional<finding> told;
    ASSERT_TRUE(eventually([&] {
        told = examined(open(), "replication");
        return told && told->severity == severity::good;
    }));
    EXPECT_NE(told->what.find("commits wait for"), std::string::npos) << told->what;
    // It can be reached by its own URL alone, as it takes no writes.
    const auto refused = examined(cluster_.open(standby()), "unreachable");
    const auto unsuitable = examined(cluster_.open(standby()), "unsuitable");
    EXPECT_TRUE(refused || unsuitable);
}

// It reads only, so that it does not wait for the standby itself.
TEST_F(synchronous_standby, that_is_gone_is_an_error_to_the_doctor) {
    cluster_.control(standby(), "kill");
    std::optional<finding> told;
    EXPECT_TRUE(eventually([&] {
        told = examined(open(), "replication");
        return told && told->severity == severity::error;
    })) << (told ? told->what : "nothing");
    ASSERT_TRUE(told);
    EXPECT_NE(told->what.find("none of them is there"), std::string::npos) << told->what;
    EXPECT_FALSE(examined(open(), "unreachable"));
}

}  // namespace
}  // namespace leasehold::testing
