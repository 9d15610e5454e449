// once::run: a body that returns has finished its run, and one that throws has failed it.
#include <stdexcept>

#include "conformance/once_suite.hpp"

namespace leasehold::testing {
namespace {

// A tick that does not change while a test runs.
const schedule rarely = schedule::every(std::chrono::hours{300 * 24});

TEST_F(once_suite, a_body_that_returns_has_finished_its_run) {
    session one{first_, calm("one")};
    const key name = fresh("task");
    once task{one, name, rarely};
    int called = 0;
    const auto count = [&](const task_run& run) {
        EXPECT_TRUE(run.held_locally());
        ++called;
    };
    EXPECT_EQ(task.run(count), finish_outcome::recorded);
    EXPECT_EQ(task.run(count), std::nullopt);
    EXPECT_EQ(called, 1);
    EXPECT_EQ(only(list_runs(second_, name.name())).state, run_state::succeeded);
    EXPECT_FALSE(describe(second_, name)->is_held);
}

TEST_F(once_suite, a_body_that_throws_has_failed_its_run_with_its_text) {
    session one{first_, calm("one")};
    const key told = fresh("told"), untold = fresh("untold");
    const auto run = [&](const key& name, auto thrown) {
        return once{one, name, rarely}.run([&](const task_run&) { throw thrown; });
    };
    EXPECT_THROW((void)run(told, std::runtime_error{"no ink"}), std::runtime_error);
    EXPECT_THROW((void)run(untold, 7), int);
    for (const auto& [name, text] :
         {std::pair{told, "no ink"}, {untold, "an exception that is no std::exception"}}) {
        const run_info last = only(list_runs(second_, name.name()));
        EXPECT_EQ(last.state, run_state::failed);
        EXPECT_EQ(last.message, text);
        EXPECT_FALSE(describe(second_, name)->is_held);
    }
}

// The database refuses the record of the run, and that must not hide why the body has failed.
TEST_F(once_suite, the_exception_of_a_body_comes_out_when_its_run_was_freed_by_force) {
    session one{first_, calm("one")};
    const key name = fresh("task");
    once task{one, name, rarely};
    const auto fail = [&](const task_run&) {
        EXPECT_TRUE(force_release(second_, name));
        EXPECT_TRUE(forget_run(second_, name));
        throw std::runtime_error{"no ink"};
    };
    EXPECT_THROW((void)task.run(fail), std::runtime_error);
    EXPECT_TRUE(list_runs(second_, name.name()).empty());
}

TEST_F(once_suite, a_body_may_finish_its_run_by_itself) {
    session one{first_, calm("one")};
    const key name = fresh("task");
    const auto finish = [](task_run& run) {
        EXPECT_EQ(
            run.finish({.has_succeeded = false, .message = "no ink"}), finish_outcome::recorded
        );
    };
    EXPECT_EQ((once{one, name, rarely}.run(finish)), finish_outcome::recorded);
    const run_info last = only(list_runs(second_, name.name()));
    EXPECT_EQ(last.state, run_state::failed);
    EXPECT_EQ(last.message, "no ink");
}

// A committed record stays, whatever the body throws after the commit.
TEST_F(once_suite, a_body_may_finish_its_run_in_a_transaction) {
    session one{first_, calm("one")};
    for (const bool is_committed : {true, false}) {
        const key name = fresh("task");
        const auto finish = [&](task_run& run) {
            transaction tx = first_.begin();
            run.finish_in(tx, {.message = "in tx"});
            if (is_committed) tx.commit();
            tx.rollback();
            throw std::runtime_error{"no ink"};
        };
        EXPECT_THROW((void)once(one, name, rarely).run(finish), std::runtime_error);
        const run_info last = only(list_runs(second_, name.name()));
        EXPECT_EQ(last.state, is_committed ? run_state::succeeded : run_state::failed);
        EXPECT_EQ(last.message, is_committed ? "in tx" : "no ink");
        EXPECT_FALSE(describe(second_, name)->is_held);
    }
}

TEST_F(once_suite, a_body_that_returns_without_the_commit_of_its_finish_has_failed) {
    session one{first_, calm("one")};
    const key name = fresh("task");
    const auto forget_to_commit = [&](task_run& run) {
        transaction tx = first_.begin();
        run.finish_in(tx, {.message = "in tx"});
        tx.rollback();
    };
    const auto told = thrown_by([&] { (void)once(one, name, rarely).run(forget_to_commit); });
    ASSERT_TRUE(told);
    EXPECT_EQ(told->code(), errc::wrong_transaction) << told->what();
    const run_info last = only(list_runs(second_, name.name()));
    EXPECT_EQ(last.state, run_state::failed);
    EXPECT_EQ(last.message, "the transaction of finish_in() was not committed");
    EXPECT_FALSE(describe(second_, name)->is_held);
}

}  // namespace
}  // namespace leasehold::testing
