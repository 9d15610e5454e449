// Jobs of dead sessions: which are rescued, when, and what an end or a heartbeat in flight changes.
#include <memory>
#include <stop_token>

#include "conformance/job_suite.hpp"
#include "leasehold/worker.hpp"
#include "support/told_events.hpp"

namespace leasehold::testing {
namespace {

using job_rescue_suite = job_suite;

TEST_F(job_rescue_suite, a_job_of_a_dead_session_is_available_again) {
    new_job what;
    what.retry.max_attempts = 1;
    const job_id id = enqueue(what);
    const claimed_job first = one_.claim_one();
    EXPECT_EQ(rescue().rescued, 0);
    expire(one_.mine);
    const rescue_result done = rescue();
    EXPECT_EQ(done.rescued, 1);
    EXPECT_EQ(done.quarantined, 0);
    const job_info seen = info(id);
    EXPECT_EQ(seen.state, job_state::available);
    EXPECT_EQ(seen.attempts, 0) << "it has not failed";
    EXPECT_EQ(seen.rescues, 1);
    ASSERT_EQ(seen.failures.size(), 1U);
    EXPECT_EQ(seen.failures.front().attempt, 1);
    EXPECT_EQ(seen.failures.front().node_info, "worker@here");
    EXPECT_EQ(seen.failures.front().error, "its worker died");
    EXPECT_EQ(seen.token, first.token);
    EXPECT_EQ(rescue().rescued, 0);
    const claimed_job second = two_.claim_one();
    EXPECT_GT(second.token.number, first.token.number);
    EXPECT_EQ(second.attempts, 1);
    EXPECT_EQ(second.rescues, 1);
    EXPECT_FALSE(one_.complete(first));
    EXPECT_TRUE(two_.complete(second));
}

TEST_F(job_rescue_suite, a_worker_tells_what_it_has_rescued) {
    enqueue();
    one_.claim_one();
    expire(one_.mine);
    const auto told = std::make_shared<told_events>();
    database_settings settings;
    settings.observer = told;
    session mine{current().open(settings), calm("mine")};
    worker_settings by;
    by.queues = {queue_};
    by.concurrency = 1;
    by.poll_every = 20ms;
    leasehold::worker does{mine, by};
    std::stop_source stop;
    does.handle_all([&](job&) { stop.request_stop(); });
    EXPECT_EQ(does.run(stop.get_token()).completed, 1);
    const auto rescued = told->only(event_kind::job_rescued, "");
    ASSERT_TRUE(rescued);
    EXPECT_EQ(rescued->reason, event_reason::released);
    EXPECT_EQ(rescued->number, 1);
}

TEST_F(job_rescue_suite, a_session_that_lives_keeps_its_jobs) {
    const auto ids = enqueue_many(3);
    const auto got = one_.claim(3);
    current().age_session(one_.mine.id(), 50min);
    for (const job_id each : ids) current().age_job(each, 24h);
    EXPECT_EQ(rescue().rescued, 0);
    EXPECT_EQ(one_.standing(got[2]), claim_standing::held);
}

TEST_F(job_rescue_suite, a_session_whose_row_was_removed_is_dead) {
    const job_id id = enqueue();
    one_.claim_one();
    current().remove_session_row(one_.mine.id());
    EXPECT_EQ(rescue().rescued, 1);
    EXPECT_EQ(state(id), job_state::available);
}

TEST_F(job_rescue_suite, beside_the_dead_the_living_keep_theirs) {
    enqueue_many(6);
    const worker three{open(), queue_};
    const auto dead = one_.claim(2), living = two_.claim(2), removed = three.claim(2);
    expire(one_.mine);
    current().remove_session_row(three.mine.id());
    EXPECT_EQ(rescue().rescued, 4);
    for (const claimed_job& each : living) EXPECT_TRUE(two_.complete(each));
    for (const auto* each : {&dead, &removed}) {
        for (const claimed_job& job : *each) EXPECT_EQ(state(job.id), job_state::available);
    }
}

TEST_F(job_rescue_suite, no_more_are_rescued_than_asked_for) {
    enqueue_many(5);
    one_.claim(5);
    expire(one_.mine);
    EXPECT_EQ(rescue(2).rescued, 2);
    EXPECT_EQ(rescue(2).rescued, 2);
    EXPECT_EQ(rescue(2).rescued, 1);
    EXPECT_EQ(rescue(2).rescued, 0);
}

TEST_F(job_rescue_suite, other_queues_are_left_alone) {
    const worker elsewhere{second_, fresh("elsewhere")};
    enqueue();
    const claimed_job got = one_.claim_one();
    expire(one_.mine);
    const auto done = with_queues([&](connection& on, job_queue_store& queues) {
        return queues.rescue(on, elsewhere.queue, 10, kept_);
    });
    EXPECT_EQ(done.rescued, 0);
    EXPECT_EQ(state(got.id), job_state::running);
}

TEST_F(job_rescue_suite, what_may_kill_its_workers_is_quarantined) {
    new_job what;
    what.max_rescues = 2;
    what.unique_key = "u";
    const job_id id = enqueue(what);
    for (const bool is_last : {false, true}) {
        one_.claim_one();
        expire(one_.mine);
        const rescue_result done = rescue();
        EXPECT_EQ(done.rescued, is_last ? 0 : 1);
        EXPECT_EQ(done.quarantined, is_last ? 1 : 0);
        revive(one_.mine);
    }
    const job_info seen = info(id);
    EXPECT_EQ(seen.state, job_state::discarded);
    EXPECT_EQ(seen.rescues, 2);
    EXPECT_NE(seen.error.find("quarantined"), std::string::npos) << seen.error;
    EXPECT_NE(seen.error.find('2'), std::string::npos) << seen.error;
    EXPECT_TRUE(seen.ended_ago);
    EXPECT_TRUE(try_enqueue(what).is_new) << "its unique key is free";
}

TEST_F(job_rescue_suite, a_quarantined_job_of_which_nothing_is_kept_leaves_no_row) {
    new_job what;
    what.max_rescues = 1;
    const job_id id = enqueue(what);
    one_.claim_one();
    expire(one_.mine);
    const auto done = with_queues([&](connection& on, job_queue_store& queues) {
        return queues.rescue(on, queue_, 10, {});
    });
    EXPECT_EQ(done.quarantined, 1);
    EXPECT_FALSE(find(id));
}

TEST_F(job_rescue_suite, a_job_that_was_to_be_cancelled_is) {
    const job_id id = enqueue();
    one_.claim_one();
    EXPECT_EQ(cancel(id), cancel_outcome::requested);
    expire(one_.mine);
    rescue();
    EXPECT_EQ(state(id), job_state::cancelled);
    EXPECT_TRUE(two_.claim(1).empty());
}

TEST_F(job_rescue_suite, an_end_before_the_rescue_counts) {
    const job_id id = enqueue();
    const claimed_job got = one_.claim_one();
    expire(one_.mine);
    EXPECT_TRUE(one_.complete(got));
    EXPECT_EQ(rescue().rescued, 0);
    EXPECT_FALSE(find(id));
}

TEST_F(job_rescue_suite, an_end_that_is_being_committed_wins) {
    for (const bool is_committed : {true, false}) {
        const job_id id = enqueue();
        const claimed_job got = one_.claim_one();
        expire(one_.mine);
        transaction tx = first_.begin();
        const auto ended = one_.finish_all_in(tx, {end_of(got, job_step::complete, 0s, "done")});
        EXPECT_EQ(ended, std::vector{true});
        rescue_result beside;
        while_open([&] { beside = rescue(); }, [&] { is_committed ? tx.commit() : tx.rollback(); });
        if (is_committed) {
            EXPECT_EQ(beside.rescued, 0);
            EXPECT_EQ(rescue().rescued, 0);
            EXPECT_EQ(info(id).result, "done");
        } else {
            EXPECT_EQ(beside.rescued + rescue().rescued, 1);
            EXPECT_EQ(state(id), job_state::available);
            EXPECT_FALSE(one_.complete(got));
        }
        revive(one_.mine);
    }
}

// Its row is locked by the renewal, which nobody else sees yet: it has expired to all others.
TEST_F(job_rescue_suite, a_heartbeat_in_flight_keeps_its_jobs) {
    enqueue();
    const claimed_job got = one_.claim_one();
    bool is_renewed = false;
    for (int attempt = 0; attempt < 20 && !is_renewed; ++attempt) {
        const auto left = 300ms;
        const auto end = local_clock::now() + left;
        current().age_session(one_.mine.id(), 1h - left);
        transaction tx = first_.begin();
        is_renewed = with_stores_in(first_, tx, [&](connection& on, store_set& stores) {
            const auto beat = stores.get<session_store>().heartbeat(on, one_.mine.id(), 1h, {});
            return beat.status == heartbeat_status::renewed;
        });
        if (!is_renewed) {
            tx.rollback();
            revive(one_.mine);
            continue;
        }
        EXPECT_TRUE(eventually([&] { return local_clock::now() > end + 50ms; }));
        rescue_result beside;
        while_open([&] { beside = rescue(); }, [&] { tx.commit(); });
        EXPECT_EQ(beside.rescued, 0);
        EXPECT_EQ(rescue().rescued, 0);
    }
    ASSERT_TRUE(is_renewed);
    EXPECT_TRUE(one_.complete(got));
}

TEST_F(job_rescue_suite, of_many_who_rescue_one_takes_each) {
    constexpr int jobs = 60, rescuers = 5;
    const auto ids = enqueue_many(jobs);
    EXPECT_EQ(one_.claim(jobs).size(), static_cast<std::size_t>(jobs));
    expire(one_.mine);
    std::atomic<std::int64_t> rescued = 0;
    {
        std::vector<thread> threads;
        for (int each = 0; each < rescuers; ++each) {
            threads.emplace_back([&] {
                const database own = open();
                for (int round = 0; round < jobs; ++round) {
                    rescued += with_stores(own, [&](connection& on, store_set& stores) {
                        return stores.get<job_queue_store>().rescue(on, queue_, 3, kept_).rescued;
                    });
                }
            });
        }
    }
    rescued += rescue().rescued;
    EXPECT_EQ(rescued, jobs);
    for (const job_id each : ids) EXPECT_EQ(info(each).rescues, 1);
}

}  // namespace
}  // namespace leasehold::testing
