// A worker: the fate of a job by the deeds of its handler, and when the worker or its session ends.
#include <atomic>
#include <future>
#include <mutex>
#include <set>

#include "conformance/worker_suite.hpp"
#include "support/thread.hpp"

namespace leasehold::testing {
namespace {

TEST_F(worker_suite, a_handler_that_returns_completes_its_job) {
    const auto job = queue_.enqueue({.kind = "greet", .payload = R"({"to":"Ada"})"});
    std::string seen;
    const auto report = drain([&](leasehold::job& mine) {
        seen = mine.kind() + " " + mine.payload() + " " + std::to_string(mine.attempt());
        EXPECT_EQ(mine.id(), job.id);
        EXPECT_EQ(mine.token().number, 1);
        EXPECT_EQ(mine.queue(), name_);
    });
    EXPECT_EQ(seen, R"(greet {"to":"Ada"} 1)");
    EXPECT_EQ(report.completed, 1);
    EXPECT_FALSE(find_job(first_, job.id)) << "nothing is kept of one without a result";
}

TEST_F(worker_suite, each_of_many_jobs_is_done_once) {
    constexpr int count = 500;
    std::vector<new_job> many(count);
    for (int at = 0; at < count; ++at)
        many[static_cast<std::size_t>(at)].payload = std::to_string(at);
    queue_.enqueue_many(many);
    std::mutex guarding;
    std::multiset<std::string> done;
    auto by = settings(4);
    by.prefetch = 50;
    const auto report = drain(
        [&](leasehold::job& mine) {
            const std::lock_guard guard{guarding};
            done.insert(mine.payload());
        },
        by
    );
    EXPECT_EQ(report.completed, count);
    EXPECT_EQ(std::set<std::string>(done.begin(), done.end()).size(), std::size_t{count});
    EXPECT_EQ(done.size(), std::size_t{count});
    EXPECT_TRUE(queue_.describe().jobs.empty());
}

TEST_F(worker_suite, a_result_and_progress_are_there_to_be_read) {
    const auto job = queue_.enqueue({});
    drain([&](leasehold::job& mine) {
        mine.progress("half of it");
        EXPECT_EQ(info_of(mine.id()).progress, "half of it");
        EXPECT_EQ(state_of(mine.id()), job_state::running);
        mine.set_result("all of it");
    });
    EXPECT_EQ(state_of(job.id), job_state::completed);
    EXPECT_EQ(info_of(job.id).result, "all of it");
}

TEST_F(worker_suite, one_that_throws_is_tried_again_after_its_delay) {
    const auto job = queue_.enqueue({.retry = {.max_attempts = 2, .delay = 1h}});
    const auto report =
        drain([](leasehold::job&) { throw std::runtime_error("no paper\nno ink"); });
    EXPECT_EQ(report.failed, 1);
    const job_info info = info_of(job.id);
    EXPECT_EQ(info.state, job_state::retryable);
    EXPECT_EQ(info.error, "no paper\nno ink");
    EXPECT_GT(info.due_in, 20min);
    EXPECT_LE(info.due_in, 1h);
    EXPECT_EQ(retry_job(first_, job.id), retry_outcome::available);
    drain([](leasehold::job& mine) {
        EXPECT_EQ(mine.attempt(), 2);
        throw 42;  // NOLINT(hicpp-exception-baseclass): that is the point
    });
    EXPECT_EQ(state_of(job.id), job_state::discarded) << "that was the last attempt";
    EXPECT_EQ(info_of(job.id).error, "an exception that is no std::exception");
}

TEST_F(worker_suite, a_job_and_what_it_writes_are_one_commit) {
    const auto job = queue_.enqueue({});
    const auto before = current().read_counter();
    const auto report = drain([&](leasehold::job& mine) {
        transaction tx = second_.begin();
        current().increment_counter(transaction_ref{tx}.inside());
        mine.complete_in(tx);
        tx.commit();
    });
    EXPECT_EQ(report.completed, 1);
    EXPECT_EQ(report.failed + report.lost, 0);
    EXPECT_EQ(current().read_counter(), before + 1);
    EXPECT_FALSE(find_job(first_, job.id));
}

TEST_F(worker_suite, a_completion_that_was_rolled_back_is_a_failure) {
    const auto job = queue_.enqueue({});
    const auto before = current().read_counter();
    drain([&](leasehold::job& mine) {
        transaction tx = second_.begin();
        current().increment_counter(transaction_ref{tx}.inside());
        mine.complete_in(tx);
        tx.rollback();
    });
    EXPECT_EQ(current().read_counter(), before);
    EXPECT_EQ(state_of(job.id), job_state::retryable);
    EXPECT_EQ(info_of(job.id).error, "the transaction of complete_in() was not committed");
}

TEST_F(worker_suite, what_was_rescued_and_done_elsewhere_cannot_be_completed) {
    const auto job = queue_.enqueue({});
    const auto before = current().read_counter();
    std::promise<void> started, go_on;
    std::optional<error> refused;
    shift late{second_, settings(1), [&](leasehold::job& mine) {
                   started.set_value();
                   go_on.get_future().wait();
                   refused = thrown_by([&] {
                       transaction tx = second_.begin();
                       current().increment_counter(transaction_ref{tx}.inside());
                       mine.complete_in(tx);
                       tx.commit();
                   });
               }};
    started.get_future().wait();
    expire(late.mine);
    auto by = settings(1);
    by.stop_when_idle = false;
    std::promise<int> done;
    shift other{first_, by, [&](leasehold::job& mine) {
                    EXPECT_EQ(mine.id(), job.id);
                    EXPECT_EQ(mine.token().number, 2);
                    EXPECT_EQ(mine.rescues(), 1) << "by whichever worker came first";
                    done.set_value(mine.attempt());
                }};
    auto attempt = done.get_future();
    ASSERT_EQ(attempt.wait_for(60s), std::future_status::ready) << "nobody rescued it";
    EXPECT_EQ(attempt.get(), 1) << "a rescue does not count as an attempt";
    EXPECT_EQ(other.end().completed, 1);
    go_on.set_value();
    late.stop.request_stop();
    // Its session has ended by the database's word, which it may have been told or not.
    thrown_by([&] { late.report.get(); });
    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->code(), errc::lease_lost);
    EXPECT_EQ(current().read_counter(), before);
}

TEST_F(worker_suite, an_attempt_over_its_time_limit_is_asked_to_stop_and_has_failed) {
    const auto job = queue_.enqueue({.attempt_timeout = 50ms});
    drain([&](leasehold::job& mine) {
        EXPECT_TRUE(stopped(mine.stop(), 20s));
        EXPECT_EQ(mine.why_stopped(), job_stop_reason::attempt_timeout);
    });
    EXPECT_EQ(state_of(job.id), job_state::retryable);
    EXPECT_EQ(info_of(job.id).error, "it took longer than its time limit");
}

TEST_F(worker_suite, a_running_job_is_asked_to_cancel) {
    const auto job = queue_.enqueue({});
    const auto report = drain([&](leasehold::job& mine) {
        EXPECT_EQ(cancel_job(first_, mine.id()), cancel_outcome::requested);
        EXPECT_TRUE(stopped(mine.stop(), 20s));
        EXPECT_EQ(mine.why_stopped(), job_stop_reason::cancel_requested);
        throw std::runtime_error("stopped half-way");
    });
    EXPECT_EQ(report.cancelled, 1);
    EXPECT_EQ(report.failed, 0) << "it counts as what it has become";
    EXPECT_EQ(state_of(job.id), job_state::cancelled);
    EXPECT_EQ(cancel_job(first_, job.id), cancel_outcome::ended);
}

TEST_F(worker_suite, a_handler_says_what_else_becomes_of_its_job) {
    const auto later = queue_.enqueue({.kind = "snooze"});
    const auto never = queue_.enqueue({.kind = "discard"});
    std::atomic<int> releases = 0;
    const auto back = queue_.enqueue({.kind = "release"});
    drain([&](leasehold::job& mine) {
        if (mine.kind() == "snooze") mine.snooze_for(1h);
        if (mine.kind() == "discard") mine.discard("nobody wants it");
        if (mine.kind() == "release" && ++releases < 3) mine.release();
        EXPECT_EQ(mine.attempt(), 1);
    });
    EXPECT_EQ(state_of(later.id), job_state::scheduled);
    EXPECT_EQ(info_of(later.id).attempts, 0);
    EXPECT_EQ(state_of(never.id), job_state::discarded);
    EXPECT_EQ(info_of(never.id).error, "nobody wants it");
    EXPECT_EQ(releases, 3);
    EXPECT_FALSE(find_job(first_, back.id));
}

TEST_F(worker_suite, a_worker_that_rests_leaves_its_jobs_to_others) {
    constexpr int count = 6;
    for (int each = 0; each < count; ++each) queue_.enqueue({});
    auto by = settings(1);
    by.prefetch = count;
    by.stop_when_idle = false;
    std::atomic<int> tries = 0;
    shift poor{second_, by, [&](leasehold::job& mine) {
                   ++tries;
                   mine.release_and_rest(1h);
               }};
    const auto claimed = [&] { return queue_.describe().jobs[job_state::running]; };
    ASSERT_TRUE(eventually([&] { return tries == 1 && claimed() == 0; }))
        << "what had not started goes back, too";
    const auto report = drain([&](leasehold::job& mine) { EXPECT_EQ(mine.attempt(), 1); });
    EXPECT_EQ(report.completed, count);
    queue_.enqueue({});
    EXPECT_EQ(drain([](leasehold::job&) {}).completed, 1);
    EXPECT_EQ(poor.end().returned, 1);
    EXPECT_EQ(tries, 1) << "it claims nothing while it rests";
}

TEST_F(worker_suite, a_worker_has_rested_when_it_is_over) {
    queue_.enqueue({});
    std::atomic<int> tries = 0;
    const auto report = drain([&](leasehold::job& mine) {
        if (++tries == 1) mine.release_and_rest(30ms);
        EXPECT_THROW(mine.release_and_rest(-1ms), error);
        EXPECT_THROW(mine.release_and_rest(24h + 1ms), error);
    });
    EXPECT_EQ(tries, 2);
    EXPECT_EQ(report.returned, 1);
    EXPECT_EQ(report.completed, 1);
}

TEST_F(worker_suite, kinds_without_a_handler_are_left_alone) {
    const auto unknown = queue_.enqueue({.kind = "of a newer version"});
    const auto known = queue_.enqueue({.kind = "known"});
    session mine{second_, calm("worker")};
    leasehold::worker does{mine, settings()};
    does.handle("known", [](leasehold::job&) {});
    EXPECT_EQ(does.run().completed, 1);
    EXPECT_EQ(state_of(unknown.id), job_state::available);
    EXPECT_EQ(info_of(unknown.id).attempts, 0);
    EXPECT_FALSE(find_job(first_, known.id));
}

TEST_F(worker_suite, what_runs_may_end_when_the_worker_is_asked_to) {
    const auto runs = queue_.enqueue({}), waits = queue_.enqueue({});
    std::promise<void> started, go_on;
    auto by = settings(1);
    by.prefetch = 10;
    shift working{second_, by, [&](leasehold::job& mine) {
                      EXPECT_EQ(mine.id(), runs.id);
                      started.set_value();
                      go_on.get_future().wait();
                      EXPECT_FALSE(mine.stop().stop_requested());
                  }};
    started.get_future().wait();
    working.stop.request_stop();
    EXPECT_TRUE(eventually([&] { return state_of(waits.id) == job_state::available; }));
    EXPECT_EQ(info_of(waits.id).attempts, 0) << "it has not started";
    go_on.set_value();
    const auto report = working.report.get();
    EXPECT_EQ(report.completed, 1);
    EXPECT_EQ(report.abandoned, 0);
    EXPECT_FALSE(find_job(first_, runs.id));
}

TEST_F(worker_suite, what_is_interrupted_has_not_failed) {
    const auto job = queue_.enqueue({});
    std::promise<void> started;
    auto by = settings(1);
    by.drain_timeout = 0ms;
    shift working{second_, by, [&](leasehold::job& mine) {
                      started.set_value();
                      EXPECT_TRUE(stopped(mine.stop(), 20s));
                      EXPECT_EQ(mine.why_stopped(), job_stop_reason::worker_ends);
                      throw std::runtime_error("interrupted");
                  }};
    started.get_future().wait();
    const auto report = working.end();
    EXPECT_EQ(report.failed, 0);
    EXPECT_EQ(report.returned, 1);
    EXPECT_EQ(state_of(job.id), job_state::available);
    EXPECT_EQ(info_of(job.id).attempts, 0);
}

TEST_F(worker_suite, a_handler_that_does_not_stop_is_abandoned_and_its_job_given_back) {
    const auto job = queue_.enqueue({});
    const auto go_on = std::make_shared<std::promise<void>>();
    const auto has_ended = std::make_shared<std::promise<void>>();
    std::promise<void> started;
    auto by = settings(1);
    by.drain_timeout = by.stop_timeout = 0ms;
    by.abandons_handlers = true;
    {
        shift working{second_, by, [&started, go_on, has_ended](leasehold::job&) {
                          started.set_value();
                          go_on->get_future().wait();
                          has_ended->set_value();
                      }};
        started.get_future().wait();
        EXPECT_EQ(working.end().abandoned, 1);
        EXPECT_EQ(state_of(job.id), job_state::available);
    }
    go_on->set_value();
    EXPECT_EQ(has_ended->get_future().wait_for(20s), std::future_status::ready);
    EXPECT_EQ(state_of(job.id), job_state::available) << "its end is not heard any more";
}

// The usual handler refers to what stands beside run().
TEST_F(worker_suite, run_returns_when_all_handlers_have_ended) {
    const auto job = queue_.enqueue({});
    std::promise<void> started, go_on;
    std::atomic<bool> has_ended = false, had_ended = false;
    auto by = settings(1);
    by.drain_timeout = by.stop_timeout = 0ms;
    shift working{second_, by, [&](leasehold::job&) {
                      started.set_value();
                      go_on.get_future().wait();
                      has_ended = true;
                  }};
    started.get_future().wait();
    thread ending{[&] {
        EXPECT_EQ(working.end().abandoned, 1);
        had_ended = has_ended.load();
    }};
    EXPECT_TRUE(eventually([&] { return state_of(job.id) == job_state::available; }))
        << "it is given back all the same";
    go_on.set_value();
    ending.join();
    EXPECT_TRUE(had_ended);
    EXPECT_EQ(state_of(job.id), job_state::available);
}

TEST_F(worker_suite, a_worker_whose_session_ends_tells_its_handlers_and_throws) {
    queue_.enqueue({});
    std::promise<void> started;
    shift working{second_, settings(1), [&](leasehold::job& mine) {
                      started.set_value();
                      EXPECT_TRUE(stopped(mine.stop(), 20s));
                      EXPECT_EQ(mine.why_stopped(), job_stop_reason::claim_lost);
                  }};
    started.get_future().wait();
    working.mine.end();
    const auto thrown = thrown_by([&] { working.report.get(); });
    ASSERT_TRUE(thrown);
    EXPECT_EQ(thrown->code(), errc::session_lost);
}

TEST_F(worker_suite, jobs_of_one_ordering_key_are_done_one_after_the_other) {
    constexpr int count = 40;
    std::vector<new_job> many;
    for (int at = 0; at < count; ++at) {
        many.push_back({.payload = std::to_string(at), .ordering_key = at % 2 == 0 ? "a" : "b"});
    }
    queue_.enqueue_many(many);
    std::mutex guarding;
    std::map<int, std::vector<int>> done;
    std::map<int, int> running;
    auto by = settings(4);
    by.prefetch = 20;
    drain(
        [&](leasehold::job& mine) {
            const int number = std::stoi(mine.payload());
            {
                const std::lock_guard guard{guarding};
                EXPECT_EQ(++running[number % 2], 1);
                done[number % 2].push_back(number);
            }
            std::this_thread::yield();
            const std::lock_guard guard{guarding};
            --running[number % 2];
        },
        by
    );
    for (auto& [key, numbers] : done) {
        EXPECT_EQ(numbers.size(), std::size_t{count / 2});
        EXPECT_TRUE(std::ranges::is_sorted(numbers));
    }
}

TEST_F(worker_suite, one_worker_works_under_a_session_at_a_time) {
    queue_.enqueue({});
    std::promise<void> started, go_on;
    shift first{second_, settings(1), [&](leasehold::job&) {
                    started.set_value();
                    go_on.get_future().wait();
                }};
    started.get_future().wait();
    leasehold::worker other{first.mine, settings(1)};
    other.handle_all([](leasehold::job&) {});
    EXPECT_EQ(thrown_by([&] { other.run(); }).value().code(), errc::invalid_argument);
    go_on.set_value();
    EXPECT_EQ(first.report.get().completed, 1);
    EXPECT_EQ(other.run().completed, 0) << "the first one has ended";
}

TEST_F(worker_suite, handlers_are_set_before_run_and_one_run_is_under_way) {
    queue_.enqueue({});
    std::promise<void> started, go_on;
    shift mine{second_, settings(1), [&](leasehold::job&) {
                   started.set_value();
                   go_on.get_future().wait();
               }};
    started.get_future().wait();
    const auto nothing = [](leasehold::job&) {};
    const auto code_of = [](auto&& call) { return thrown_by(call).value().code(); };
    EXPECT_EQ(code_of([&] { mine.does.handle("late", nothing); }), errc::invalid_argument);
    EXPECT_EQ(code_of([&] { mine.does.run(); }), errc::invalid_argument);
    go_on.set_value();
    EXPECT_EQ(mine.report.get().completed, 1);
    mine.does.handle("late", nothing);
}

TEST_F(worker_suite, a_drain_sees_what_its_own_jobs_enqueue) {
    const job_queue then{first_, name_ + "/then"};
    queue_.enqueue({});
    auto by = settings(1);
    by.queues = {then.name(), name_};
    const auto report = drain(
        [&](leasehold::job& mine) {
            if (mine.queue() == name_) then.enqueue({});
        },
        by
    );
    EXPECT_EQ(report.completed, 2);
}

TEST_F(worker_suite, a_session_that_is_lost_while_it_drains_is_told_to_its_handlers) {
    queue_.enqueue({});
    std::promise<void> started;
    auto by = settings(1);
    by.drain_timeout = 1h;
    shift working{second_, by, [&](leasehold::job& mine) {
                      started.set_value();
                      EXPECT_TRUE(stopped(mine.stop(), 20s));
                      EXPECT_EQ(mine.why_stopped(), job_stop_reason::claim_lost);
                  }};
    started.get_future().wait();
    working.stop.request_stop();
    working.mine.end();
    EXPECT_EQ(working.report.wait_for(60s), std::future_status::ready);
    thrown_by([&] { working.report.get(); });
}

TEST_F(worker_suite, a_job_is_cancelled_while_its_worker_ends) {
    const auto job = queue_.enqueue({});
    std::promise<void> started;
    auto by = settings(1);
    by.drain_timeout = 1h;
    shift working{second_, by, [&](leasehold::job& mine) {
                      started.set_value();
                      EXPECT_TRUE(stopped(mine.stop(), 20s));
                      EXPECT_EQ(mine.why_stopped(), job_stop_reason::cancel_requested);
                      throw std::runtime_error("stopped half-way");
                  }};
    started.get_future().wait();
    working.stop.request_stop();
    EXPECT_EQ(cancel_job(first_, job.id), cancel_outcome::requested);
    working.report.get();
    EXPECT_EQ(state_of(job.id), job_state::cancelled);
}

// The last claim before it came due again had brought nothing.
TEST_F(worker_suite, a_drain_does_what_has_failed_and_is_due_at_once) {
    queue_.enqueue({.retry = {.delay = 0ms, .max_delay = 0ms}});
    const auto by = settings(1);
    const auto report = drain(
        [&](leasehold::job& mine) {
            // The handler takes so long that the worker looks meanwhile.
            const auto end = local_clock::now() + 5 * by.poll_every;
            EXPECT_TRUE(eventually([&] { return local_clock::now() > end; }));
            if (mine.attempt() == 1) throw std::runtime_error("once");
        },
        by
    );
    EXPECT_EQ(report.failed, 1);
    EXPECT_EQ(report.completed, 1);
    EXPECT_TRUE(queue_.describe().jobs.empty());
}

TEST_F(worker_suite, settings_out_of_range_are_refused) {
    session mine{second_, calm("worker")};
    const auto code_of = [&](const worker_settings& by) {
        const auto thrown = thrown_by([&] { leasehold::worker{mine, by}; });
        return thrown ? thrown->code() : errc::database_error;
    };
    EXPECT_EQ(code_of({}), errc::invalid_argument) << "no queue";
    EXPECT_EQ(code_of({.queues = {""}}), errc::invalid_argument);
    EXPECT_EQ(code_of({.queues = {"a", "a"}}), errc::invalid_argument);
    EXPECT_EQ(code_of({.queues = {"a"}, .concurrency = 0}), errc::invalid_argument);
    EXPECT_EQ(code_of({.queues = {"a"}, .prefetch = -1}), errc::invalid_argument);
    EXPECT_EQ(code_of({.queues = {"a"}, .poll_every = 1ms}), errc::invalid_argument);
    leasehold::worker idle{mine, {.queues = {"a"}}};
    EXPECT_EQ(thrown_by([&] { idle.run(); }).value().code(), errc::invalid_argument);
    idle.handle("a", [](leasehold::job&) {});
    EXPECT_TRUE(thrown_by([&] { idle.handle("a", [](leasehold::job&) {}); }));
}

}  // namespace
}  // namespace leasehold::testing
