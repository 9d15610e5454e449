// The trace of its enqueuer and the checkpoint of its handler travel with a job beside its payload.
#include <future>
#include <stdexcept>

#include "conformance/job_suite.hpp"
#include "conformance/worker_suite.hpp"
#include "database/database.hpp"
#include "leasehold/job_schedule.hpp"

namespace leasehold::testing {
namespace {

constexpr const char* some_trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
constexpr const char* other_trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00";

class job_checkpoint_suite : public job_suite {
protected:
    static bool save(const worker& who, const claimed_job& job, const std::string& state) {
        return with_stores(who.db, [&](connection& on, store_set& stores) {
            auto& jobs = stores.get<job_store>();
            return jobs.save_checkpoint(on, who.mine.id(), {job.id, job.token}, state);
        });
    }
    static bool save_in(
        transaction& tx, const worker& who, const claimed_job& job, const std::string& state
    ) {
        return with_stores_in(who.db, tx, [&](connection& on, store_set& stores) {
            auto& jobs = stores.get<job_store>();
            return jobs.save_checkpoint(on, who.mine.id(), {job.id, job.token}, state);
        });
    }
    errc refused(const std::string& traceparent) const {
        const job_queue queue{first_, queue_};
        const auto failure = thrown_by([&] { queue.enqueue({.traceparent = traceparent}); });
        return failure ? failure->code() : errc::busy;
    }
};

TEST_F(job_checkpoint_suite, a_trace_travels_with_each_way_of_enqueuing) {
    enqueue({.traceparent = some_trace});
    enqueue({.priority = 1, .unique_key = "u", .traceparent = some_trace});
    enqueue({.priority = 2, .ordering_key = "o", .traceparent = some_trace});
    enqueue_all(
        {{.priority = 3, .traceparent = other_trace}, {.priority = 4, .traceparent = other_trace}}
    );
    enqueue_all({{.priority = 5, .traceparent = some_trace}, {.priority = 6}});
    std::vector<std::string> traces;
    while (traces.size() < 7) {
        const claimed_job got = one_.claim_one();
        traces.push_back(got.traceparent);
        EXPECT_TRUE(one_.complete(got));
    }
    EXPECT_EQ(
        traces,
        (std::vector<std::string>{
            some_trace, some_trace, some_trace, other_trace, other_trace, some_trace, ""})
    );
}

TEST_F(job_checkpoint_suite, many_jobs_with_one_trace_are_sent_as_quickly_as_without) {
    enqueue_many(300, {.traceparent = some_trace});
    const auto got = one_.claim(300);
    ASSERT_EQ(got.size(), 300U);
    for (const claimed_job& each : got) EXPECT_EQ(each.traceparent, some_trace);
}

TEST_F(job_checkpoint_suite, a_job_that_is_replaced_has_the_new_trace_and_no_checkpoint) {
    new_job what = unique("u", on_conflict::replace);
    what.traceparent = some_trace;
    enqueue(what);
    const claimed_job got = one_.claim_one();
    EXPECT_TRUE(save(one_, got, "half"));
    EXPECT_TRUE(one_.fail(got, 0us));
    what.traceparent = other_trace;
    EXPECT_FALSE(try_enqueue(what).is_new);
    claimed_job again = one_.claim_one();
    EXPECT_EQ(again.traceparent, other_trace);
    EXPECT_EQ(again.checkpoint, "");
    EXPECT_TRUE(one_.fail(again, 0us));
    what.traceparent.clear();
    EXPECT_FALSE(try_enqueue(what).is_new);
    EXPECT_EQ(one_.claim_one().traceparent, "");
}

TEST_F(job_checkpoint_suite, both_stay_through_failures_rescues_and_the_end) {
    const job_id id = enqueue({.traceparent = some_trace});
    claimed_job got = one_.claim_one();
    EXPECT_EQ(got.checkpoint, "");
    EXPECT_TRUE(save(one_, got, "first"));
    EXPECT_TRUE(save(one_, got, "first")) << "the same once more";
    EXPECT_TRUE(one_.fail(got, 0us));
    promote();
    got = one_.claim_one();
    EXPECT_EQ(got.checkpoint, "first");
    EXPECT_TRUE(save(one_, got, "second"));
    EXPECT_TRUE(one_.finish(end_of(got, job_step::release)));
    got = two_.claim_one();
    EXPECT_EQ(got.checkpoint, "second");
    EXPECT_TRUE(save(two_, got, "third"));
    expire(two_.mine);
    EXPECT_EQ(rescue().rescued, 1);
    got = one_.claim_one();
    EXPECT_EQ(got.checkpoint, "third");
    EXPECT_EQ(info(id).checkpoint, "third");
    EXPECT_TRUE(one_.finish(end_of(got, job_step::discard, 0us, "no use")));
    EXPECT_EQ(info(id).checkpoint, "third");
    EXPECT_EQ(info(id).traceparent, some_trace);
    EXPECT_EQ(retry_job(first_, id), retry_outcome::redriven);
    got = one_.claim_one();
    EXPECT_EQ(got.id, id);
    EXPECT_EQ(got.checkpoint, "third");
    EXPECT_EQ(got.traceparent, some_trace);
}

TEST_F(job_checkpoint_suite, a_job_that_completed_runs_again_from_its_beginning) {
    one_.kept.completed = 1h;
    const job_id id = enqueue({.traceparent = some_trace});
    const claimed_job got = one_.claim_one();
    EXPECT_TRUE(save(one_, got, "last page"));
    EXPECT_TRUE(one_.complete(got));
    EXPECT_EQ(retry_job(first_, id), retry_outcome::redriven);
    const claimed_job again = one_.claim_one();
    EXPECT_EQ(again.checkpoint, "");
    EXPECT_EQ(again.traceparent, some_trace);
}

TEST_F(job_checkpoint_suite, a_change_of_what_the_job_is_about_begins_anew) {
    using what = std::pair<job_changes, std::string>;
    for (const auto& [changes, left] :
         {what{{.payload = "new"}, ""}, what{{.kind = "new"}, ""}, what{{.priority = 3}, "half"}}) {
        const job_id id = enqueue();
        const claimed_job got = one_.claim_one();
        EXPECT_TRUE(save(one_, got, "half"));
        EXPECT_TRUE(one_.finish(end_of(got, job_step::release)));
        EXPECT_EQ(change_job(first_, id, changes), job_change_outcome::changed);
        const claimed_job again = one_.claim_one();
        EXPECT_EQ(again.checkpoint, left);
        EXPECT_TRUE(one_.complete(again));
    }
}

TEST_F(job_checkpoint_suite, only_the_worker_that_has_the_job_saves) {
    enqueue();
    const claimed_job got = one_.claim_one();
    EXPECT_FALSE(save(two_, got, "theirs"));
    claimed_job other = got;
    other.token.number += 1;
    EXPECT_FALSE(save(one_, other, "later"));
    EXPECT_TRUE(save(one_, got, "ours"));
    EXPECT_TRUE(one_.finish(end_of(got, job_step::release)));
    EXPECT_FALSE(save(one_, got, "late"));
    const claimed_job again = one_.claim_one();
    EXPECT_FALSE(save(one_, got, "late"));
    EXPECT_EQ(again.checkpoint, "ours");
    EXPECT_TRUE(one_.finish(end_of(again, job_step::release)));
    EXPECT_EQ(one_.claim_one().checkpoint, "ours");
}

TEST_F(job_checkpoint_suite, a_checkpoint_is_a_part_of_the_callers_transaction) {
    enqueue();
    const claimed_job got = one_.claim_one();
    transaction undone = one_.db.begin();
    EXPECT_TRUE(save_in(undone, one_, got, "undone"));
    undone.rollback();
    transaction done = one_.db.begin();
    EXPECT_TRUE(save_in(done, one_, got, "done"));
    EXPECT_TRUE(save_in(done, one_, got, "done")) << "the same once more";
    done.commit();
    EXPECT_TRUE(one_.finish(end_of(got, job_step::release)));
    EXPECT_EQ(one_.claim_one().checkpoint, "done");
}

// The transaction has seen the claim before it was lost: a plain read would go on seeing it.
TEST_F(job_checkpoint_suite, a_transaction_with_an_old_snapshot_is_refused) {
    if (current().name == "sqlite" || current().name == "memory") {
        GTEST_SKIP() << "it has no isolation levels";
    }
    const bool is_postgres = first_.server().engine == engine::postgres;
    const std::string counter = first_.settings().names.prefix + "counter";
    for (const char* const level : {"READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"}) {
        enqueue();
        const claimed_job got = one_.claim_one();
        lent_connection on{one_.db.inner()->connections()};
        const std::string isolation = std::string{" TRANSACTION ISOLATION LEVEL "} + level;
        if (is_postgres) {
            on->begin();
            on->execute("SET" + isolation);
        } else {
            on->execute("SET SESSION" + isolation);
            on->execute("START TRANSACTION");
        }
        store_set& stores = one_.db.inner()->ready_store(*on);
        auto& jobs = stores.get<job_store>();
        const job_claim claim{got.id, got.token};
        on->execute("SELECT n FROM " + counter);  // the snapshot
        EXPECT_TRUE(one_.finish(end_of(got, job_step::release)));
        const claimed_job theirs = two_.claim_one();
        EXPECT_EQ(theirs.id, got.id);
        bool is_saved = false;
        const auto refusal =
            thrown_by([&] { is_saved = jobs.save_checkpoint(*on, one_.mine.id(), claim, "late"); });
        EXPECT_FALSE(is_saved) << level;
        EXPECT_TRUE(!refusal || refusal->is_transient()) << level << ": " << refusal->what();
        on->rollback();
        if (!is_postgres) on->execute("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED");
        EXPECT_TRUE(two_.complete(theirs));
    }
}

TEST_F(job_checkpoint_suite, bad_traces_are_refused) {
    EXPECT_EQ(refused(some_trace), errc::busy) << "that one is good";
    const std::string good = some_trace;
    for (const std::string& each :
         {std::string{"x"},
          good + "0",
          good.substr(1),
          "ff" + good.substr(2),
          "00-00000000000000000000000000000000" + good.substr(35),
          good.substr(0, 36) + "0000000000000000-01",
          "00-0AF7651916CD43DD8448EB211C80319C" + good.substr(35),
          good.substr(0, 35) + "_b7ad6b7169203331-01",
          std::string{"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0\0", 55}}) {
        EXPECT_EQ(refused(each), errc::invalid_argument) << each;
    }
}

TEST_F(job_checkpoint_suite, the_job_of_a_schedule_has_no_trace) {
    job_schedule what{.name = fresh("s"), .queue = queue_};
    what.cron = "0 0 * * *";
    what.job.traceparent = some_trace;
    const auto failure = thrown_by([&] { set_job_schedule(first_, what); });
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->code(), errc::invalid_argument);
}

TEST_F(worker_suite, a_handler_goes_on_from_its_checkpoint) {
    queue_.enqueue({.retry = {.delay = 0ms}, .traceparent = some_trace});
    const auto before = current().read_counter();
    std::vector<std::string> begun;
    const auto report = drain([&](leasehold::job& mine) {
        begun.push_back(mine.checkpoint());
        EXPECT_EQ(mine.traceparent(), some_trace);
        if (mine.checkpoint().empty()) {
            mine.save_checkpoint("read");
            throw std::runtime_error("no more today");
        }
        if (mine.checkpoint() == "read") {
            transaction tx = second_.begin();
            current().increment_counter(transaction_ref{tx}.inside());
            mine.save_checkpoint_in(tx, "written");
            tx.commit();
            throw std::runtime_error("nor tomorrow");
        }
    });
    EXPECT_EQ(report.completed, 1);
    EXPECT_EQ(report.failed, 2);
    EXPECT_EQ(begun, (std::vector<std::string>{"", "read", "written"}));
    EXPECT_EQ(current().read_counter(), before + 1);
}

TEST_F(worker_suite, a_checkpoint_of_a_job_that_was_lost_is_refused) {
    const auto job = queue_.enqueue({});
    const auto before = current().read_counter();
    std::promise<void> started, go_on;
    std::vector<errc> refused;
    shift late{second_, settings(1), [&](leasehold::job& mine) {
                   started.set_value();
                   go_on.get_future().wait();
                   const auto note = [&](const auto& run) {
                       const auto failure = thrown_by(run);
                       refused.push_back(failure ? failure->code() : errc::busy);
                   };
                   note([&] { mine.save_checkpoint("late"); });
                   note([&] {
                       transaction tx = second_.begin();
                       current().increment_counter(transaction_ref{tx}.inside());
                       mine.save_checkpoint_in(tx, "late");
                       tx.commit();
                   });
                   note([&] { mine.save_checkpoint(std::string(65'537, 'x')); });
                   note([&] { mine.save_checkpoint("\xff"); });
               }};
    started.get_future().wait();
    expire(late.mine);
    auto by = settings(1);
    by.stop_when_idle = false;
    std::promise<std::string> found;
    shift other{first_, by, [&](leasehold::job& mine) {
                    EXPECT_EQ(mine.id(), job.id);
                    found.set_value(mine.checkpoint());
                }};
    auto checkpoint = found.get_future();
    ASSERT_EQ(checkpoint.wait_for(60s), std::future_status::ready) << "nobody rescued it";
    EXPECT_EQ(checkpoint.get(), "");
    EXPECT_EQ(other.end().completed, 1);
    go_on.set_value();
    late.stop.request_stop();
    thrown_by([&] { late.report.get(); });  // its session has ended, which it may have been told
    EXPECT_EQ(
        refused,
        (std::vector{
            errc::lease_lost, errc::lease_lost, errc::invalid_argument, errc::invalid_argument})
    );
    EXPECT_EQ(current().read_counter(), before);
}

TEST_F(worker_suite, the_longest_checkpoint_comes_back_as_it_was) {
    queue_.enqueue({.retry = {.delay = 0ms}});
    std::string longest;
    while (longest.size() < 65'534) longest += "\xc3\xa4\n'\\";
    longest.resize(65'530);
    std::string found;
    drain([&](leasehold::job& mine) {
        found = mine.checkpoint();
        if (!found.empty()) return;
        mine.save_checkpoint(longest);
        throw std::runtime_error("once more");
    });
    EXPECT_EQ(found, longest);
}

}  // namespace
}  // namespace leasehold::testing
