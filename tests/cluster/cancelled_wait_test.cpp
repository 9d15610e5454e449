// An operator cancels a commit that waits for its standby (pg_cancel_backend): PostgreSQL says that
// it has committed, with a warning that it may not have been replicated. Such a commit is neither
// done nor not done.
#include <atomic>
#include <future>
#include <optional>

#include "cluster/standbys.hpp"
#include "leasehold/leasehold.hpp"
#include "support/eventually.hpp"
#include "support/granted.hpp"

namespace leasehold::testing {
namespace {

using namespace std::chrono_literals;

class synchronous_cancelled : public standbys {
protected:
    // Does it while the standby is gone, and cancels what waits until it has ended.
    template <class Work>
    std::optional<error> cancelled(Work work) const {
        cluster_.control(primary(), "isolate");
        auto doing = std::async(std::launch::async, [&]() -> std::optional<error> {
            try {
                work();
            } catch (const error& failure) {
                return failure;
            }
            return std::nullopt;
        });
        const bool has_ended = eventually([&] {
            cancelled_ += integer(
                primary(),
                "SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity"
                " WHERE wait_event = 'SyncRep'"
            );
            return doing.wait_for(0s) == std::future_status::ready;
        });
        cluster_.control(primary(), "rejoin");
        EXPECT_TRUE(has_ended);
        EXPECT_GT(cancelled_, 0);
        return doing.get();
    }
    database patient() const { return open(15s); }

    mutable std::atomic<std::int64_t> cancelled_ = 0;
};

TEST_F(synchronous_cancelled, a_grant_is_unknown) {
    session one{patient(), {.name = "one", .ttl = 120s}};
    const auto failure = cancelled([&] { (void)mutex{one, "key"}.try_acquire(); });
    ASSERT_TRUE(failure) << "granted, by a commit that a fail-over may undo";
    EXPECT_TRUE(failure->outcome_is_unknown()) << failure->what();
}

TEST_F(synchronous_cancelled, a_commit_of_the_callers_is_unknown) {
    const database db = patient();
    transaction tx = db.begin();
    job_queue{db, "q"}.enqueue_in(tx, {});
    const auto failure = cancelled([&] { tx.commit(); });
    ASSERT_TRUE(failure);
    EXPECT_TRUE(failure->outcome_is_unknown()) << failure->what();
}

TEST_F(synchronous_cancelled, a_tick_is_unknown) {
    session one{patient(), {.name = "one", .ttl = 120s}};
    once task{one, "task", schedule::every(std::chrono::hours{24})};
    const auto failure = cancelled([&] { (void)task.try_start(); });
    ASSERT_TRUE(failure);
    EXPECT_TRUE(failure->outcome_is_unknown()) << failure->what();
}

// The waiter finds the key handed over on the primary, and not on the standby.
TEST_F(synchronous_cancelled, a_hand_over_is_unknown) {
    session one{patient(), {.name = "one", .ttl = 120s}};
    session other{patient(), {.name = "other", .ttl = 120s}};
    auto held = mutex{one, "key"}.try_acquire();
    ASSERT_TRUE(held);
    std::atomic<bool> has_key = false;
    auto waiting = std::async(std::launch::async, [&]() -> std::optional<error> {
        try {
            has_key = is_granted(mutex{other, "key"}.acquire_for(5s));
        } catch (const error& failure) {
            return failure;
        }
        return std::nullopt;
    });
    auto released = release_outcome::not_held;
    const std::string waiters = "SELECT count(*) FROM " + cluster_.prefix() + "waiter";
    ASSERT_TRUE(eventually([&] { return integer(standby(), waiters) == 1; }));
    const auto failure = cancelled([&] {
        released = held->release();
        EXPECT_TRUE(eventually([&] { return waiting.wait_for(0s) == std::future_status::ready; }));
        EXPECT_FALSE(has_key) << "by a commit that a fail-over may undo";
    });
    EXPECT_FALSE(failure) << failure->what();
    EXPECT_EQ(released, release_outcome::unknown);
    const auto of_waiter = waiting.get();
    ASSERT_TRUE(of_waiter);
    EXPECT_TRUE(of_waiter->outcome_is_unknown()) << of_waiter->what();
}

// As a cluster manager does that goes on without its last standby: the server answers the commits
// that wait as if a standby had confirmed them.
TEST_F(
    synchronous_cancelled, a_grant_that_requires_a_standby_is_unknown_when_none_is_named_any_more
) {
    const auto found =
        cluster_.open(primary()).execute("SELECT current_setting('synchronous_standby_names')");
    const std::string names = found.rows.at(0).text(0);
    ASSERT_NE(names, "");
    const auto set = [&](const std::string& to) {
        cluster_.control(primary(), "set synchronous_standby_names '" + to + "'");
    };
    const auto grant = [&](bool requires_standby) -> std::optional<error> {
        database_settings settings;
        settings.statement_timeout = 60s;
        settings.requires_standby = requires_standby;
        session one{cluster_.open_all(settings), {.name = "one", .ttl = 120s}};
        cluster_.control(primary(), "isolate");
        auto doing = std::async(std::launch::async, [&]() -> std::optional<error> {
            try {
                (void)mutex{one, "key"}.try_acquire();
            } catch (const error& failure) {
                return failure;
            }
            return std::nullopt;
        });
        EXPECT_TRUE(eventually([&] { return waits_for_standby(primary()) > 0; }));
        set("");
        auto failure = doing.get();
        set(names);
        cluster_.control(primary(), "rejoin");
        return failure;
    };
    const auto failure = grant(true);
    ASSERT_TRUE(failure) << "granted, by a commit that no standby has";
    EXPECT_TRUE(failure->outcome_is_unknown()) << failure->what();
    EXPECT_FALSE(grant(false)) << "a session that requires none is not told";
}

// It is found to have ended, and counted, when the standby has that, too.
TEST_F(synchronous_cancelled, an_end_of_a_job_is_counted_once) {
    const database db = patient();
    const job_queue queue{db, "ends"};
    queue.enqueue({});
    session one{db, {.name = "one", .ttl = 120s}};
    worker does{
        one, {.queues = {"ends"}, .concurrency = 1, .poll_every = 50ms, .stop_when_idle = true}};
    std::promise<void> begun, go_on;
    does.handle_all([&](job&) {
        begun.set_value();
        go_on.get_future().wait();
    });
    auto report = std::async(std::launch::async, [&] { return does.run(); });
    begun.get_future().wait();
    const auto failure = cancelled([&] {
        go_on.set_value();
        EXPECT_TRUE(eventually([&] { return cancelled_ > 0; }));
    });
    EXPECT_FALSE(failure);
    const auto counts = report.get();
    EXPECT_EQ(counts.completed + counts.unknown, 1);
    EXPECT_EQ(counts.lost, 0);
}

}  // namespace
}  // namespace leasehold::testing
