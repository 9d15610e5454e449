// An operator cancels a commit that waits for its standby (pg_cancel_backend): PostgreSQL says that
// it has committed, with a warning that it may not have been replicated. That is neither done nor
// not done.
#include <future>
#include <optional>

#include "cluster/standbys.hpp"
#include "leasehold/leasehold.hpp"
#include "support/eventually.hpp"

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

    mutable std::int64_t cancelled_ = 0;
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

// It is found to have ended, and counted, when the standby has that, too.
TEST_F(synchronous_cancelled, an_end_of_a_job_is_counted_once) {
    const database db = patient();
    const job_queue queue{db, "ends"};
    queue.enqueue({});
    session one{db, {.name = "one", .ttl = 120s}};
    worker does{one, {.queues = {"ends"}, .threads = 1, .poll_every = 50ms, .drains = true}};
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
