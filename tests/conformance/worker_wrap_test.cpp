// Wrappers stand around the handlers of a worker; helpers do a program's jobs in its tests.
#include <stdexcept>
#include <string>
#include <vector>

#include "conformance/worker_suite.hpp"
#include "leasehold/job_testing.hpp"

namespace leasehold::testing {
namespace {

struct no_such_address : std::runtime_error {
    using std::runtime_error::runtime_error;
};
struct no_network : std::runtime_error {
    using std::runtime_error::runtime_error;
};

TEST_F(worker_suite, wrappers_stand_around_each_handler_the_first_outermost) {
    queue_.enqueue({.kind = "send"});
    queue_.enqueue({.kind = "other"});
    std::vector<std::string> said;
    const auto report = drain_inline(second_, settings(), [&](leasehold::worker& mine) {
        for (const char* const each : {"outer", "inner"}) {
            mine.wrap([&said, each](leasehold::job& of, const job_handler& next) {
                said.push_back(std::string{each} + " before " + of.kind());
                next(of);
                said.push_back(std::string{each} + " after");
            });
        }
        mine.handle("send", [&](leasehold::job&) { said.emplace_back("send"); });
        mine.handle_all([&](leasehold::job&) { said.emplace_back("all"); });
    });
    EXPECT_EQ(report.completed, 2);
    EXPECT_EQ(
        said,
        (std::vector<std::string>{
            "outer before send",
            "inner before send",
            "send",
            "inner after",
            "outer after",
            "outer before other",
            "inner before other",
            "all",
            "inner after",
            "outer after"})
    );
}

TEST_F(worker_suite, a_wrapper_chooses_the_time_until_the_next_attempt) {
    const auto far = queue_.enqueue({.payload = "far"});
    const auto near = queue_.enqueue({.payload = "near"});
    queue_.enqueue({.payload = "done"});
    const auto report = drain_inline(second_, settings(), [&](leasehold::worker& mine) {
        mine.wrap([](leasehold::job& of, const job_handler& next) {
            of.set_retry_delay(of.payload() == "far" ? 24h : 0h);
            EXPECT_THROW(of.set_retry_delay(-1ms), error);
            EXPECT_THROW(of.set_retry_delay(24h * 367), error);
            next(of);
        });
        mine.handle_all([](leasehold::job& of) {
            if (of.payload() != "done" && of.attempt() == 1) throw std::runtime_error("not yet");
        });
    });
    EXPECT_EQ(report.failed, 2);
    EXPECT_EQ(report.completed, 2);
    EXPECT_EQ(state_of(far.id), job_state::retryable);
    EXPECT_GT(info_of(far.id).due_in, 23h);
    EXPECT_FALSE(find_job(first_, near.id));
}

TEST_F(worker_suite, a_wrapper_says_what_an_exception_means) {
    const auto lost = queue_.enqueue({.payload = "nowhere"});
    const auto later = queue_.enqueue({.payload = "later"});
    const auto fails = queue_.enqueue({.payload = "fails"});
    const auto skipped = queue_.enqueue({.payload = "skipped"});
    int calls = 0;
    const auto report = drain_inline(second_, settings(), [&](leasehold::worker& mine) {
        mine.wrap([](leasehold::job& of, const job_handler& next) {
            if (of.payload() == "skipped") return of.discard("not today");
            try {
                next(of);
            } catch (const no_such_address& why) {
                of.discard(why.what());
            } catch (const no_network&) {
                of.snooze_for(1h);
            }
        });
        mine.handle_all([&](leasehold::job& of) {
            ++calls;
            if (of.payload() == "nowhere") throw no_such_address{"nobody lives there"};
            if (of.payload() == "later") throw no_network{"no route"};
            throw std::runtime_error{"no ink"};
        });
    });
    EXPECT_EQ(calls, 3);
    EXPECT_EQ(report.discarded, 2);
    EXPECT_EQ(report.returned, 1);
    EXPECT_EQ(report.failed, 1);
    EXPECT_EQ(info_of(lost.id).error, "nobody lives there");
    EXPECT_EQ(state_of(later.id), job_state::scheduled);
    EXPECT_EQ(info_of(fails.id).error, "no ink");
    EXPECT_EQ(info_of(skipped.id).error, "not today");
}

TEST_F(worker_suite, wrappers_are_given_before_a_run) {
    session mine{second_, calm("worker")};
    leasehold::worker does{mine, settings()};
    const auto code_of_wrap = [&](job_wrapper around) {
        try {
            does.wrap(std::move(around));
        } catch (const error& failure) {
            return failure.code();
        }
        return errc::busy;
    };
    EXPECT_EQ(code_of_wrap({}), errc::invalid_argument);
    errc meanwhile{};
    does.handle_all([&](leasehold::job&) {
        meanwhile = code_of_wrap([](leasehold::job& of, const job_handler& next) { next(of); });
    });
    queue_.enqueue({});
    EXPECT_EQ(does.run().completed, 1);
    EXPECT_EQ(meanwhile, errc::invalid_argument);
}

TEST_F(worker_suite, a_test_sees_what_was_enqueued_and_does_it_with_what_follows) {
    queue_.enqueue({.kind = "order", .payload = "42"});
    queue_.enqueue({.kind = "other", .delay = 1h});
    const auto orders = enqueued_jobs(first_, name_, "order");
    ASSERT_EQ(orders.size(), 1U);
    EXPECT_EQ(orders.front().payload, "42");
    EXPECT_EQ(enqueued_jobs(first_, name_).size(), 2U);
    const auto report = drain_inline(first_, {.queues = {name_}}, [&](leasehold::worker& mine) {
        mine.handle("order", [&](leasehold::job& of) {
            transaction tx = second_.begin();
            queue_.enqueue_in(tx, {.kind = "letter", .payload = of.payload()});
            of.complete_in(tx);
            tx.commit();
        });
        mine.handle("letter", [](leasehold::job& of) { EXPECT_EQ(of.payload(), "42"); });
    });
    EXPECT_EQ(report.completed, 2);
    EXPECT_EQ(enqueued_jobs(first_, name_).size(), 1U) << "a delayed one stays";
}

}  // namespace
}  // namespace leasehold::testing
