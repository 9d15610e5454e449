// The parts of a worker that send its statements, each alone: fetcher, completer, maintenance.
#include <gtest/gtest.h>

#include <atomic>

#include "jobs/job_attempt.hpp"
#include "jobs/job_maintenance.hpp"
#include "leasehold/job_queue.hpp"
#include "unit/model_fixture.hpp"

namespace leasehold::testing {
namespace {

class job_statements_test : public model_test {
protected:
    static session_settings settings_of(const char* name) {
        session_settings made = calm(name);
        made.begins_with_grant = false;
        return made;
    }
    // As a claim that the parts know nothing of.
    std::vector<claimed_job> claim(const session& whose, int max_jobs = 10) {
        return parts_.queues.use([&](connection& on, store_set& stores) {
            const claim_request request{"one", {}, max_jobs, whose.id(), "somebody"};
            return stores.get<job_store>().claim(on, request).jobs;
        });
    }
    job_store::end_states finish(const session& whose, const ended_job& one) {
        return parts_.queues.use([&](connection& on, store_set& stores) {
            return stores.get<job_store>().finish(on, whose.id(), {one.end}, {});
        });
    }
    std::optional<job_state> state_of(job_id id) {
        const auto found = parts_.queues.use([&](connection& on, store_set& stores) {
            return stores.get<job_queue_store>().describe(on, id);
        });
        return found ? std::optional{found->state} : std::nullopt;
    }
    static ended_job ended(const claimed_job& one, job_step step) {
        ended_job made;
        made.queue = "one";
        made.step = step;
        made.end = end_after(one, step, 0us, "");
        made.presumed = made.end.becomes;
        made.attempt = one.attempts;
        return made;
    }
    static ended_job completed(const claimed_job& one) { return ended(one, job_step::complete); }
    void rescue_jobs_of(const session& dead) {
        model_.age_session(dead.id(), 2h);
        parts_.queues.use([](connection& on, store_set& stores) {
            return stores.get<job_queue_store>().rescue(on, "one", 10, {});
        });
    }
    struct exchanged : job_completer::parcel {
        job_store::end_states ends;
    };
    exchanged exchange(std::vector<ended_job> ends, std::size_t wanted, bool claims_next) {
        exchanged both{completer_.exchange(ends, wanted, claims_next), {}};
        for (const ended_job& each : ends) both.ends.push_back(each.became);
        return both;
    }
    static bool knows_nothing(const claimed_job&) { return false; }

    session mine_{sound(), settings_of("worker")}, other_{sound(), settings_of("other")};
    worker_settings settings_{.queues = {"one", "two"}, .poll_every = 1h};
    job_statements parts_{mine_.inner(), settings_};
    job_fetcher& fetcher_ = parts_.fetcher;
    job_completer& completer_ = parts_.completer;
    job_maintenance& maintenance_ = parts_.maintenance;
    worker_queue& one_ = parts_.queues.all.at(0);
    worker_queue& two_ = parts_.queues.all.at(1);
    const job_queue queue_{sound(), "one"};
};

// ---- the fetcher

TEST_F(job_statements_test, each_promising_queue_is_the_next_in_its_turn) {
    EXPECT_EQ(fetcher_.next_promising(), &one_);
    EXPECT_EQ(fetcher_.next_promising(), &two_);
    EXPECT_EQ(fetcher_.next_promising(), &one_);
    one_.is_promising = false;
    EXPECT_EQ(fetcher_.next_promising(), &two_);
    EXPECT_EQ(fetcher_.next_promising(), &two_);
    two_.is_promising = false;
    EXPECT_FALSE(fetcher_.has_promising_queue());
    EXPECT_EQ(fetcher_.next_promising(), nullptr);
}

TEST_F(job_statements_test, a_queue_owes_nothing_for_the_turns_of_another) {
    one_.weight = 1000;
    for (int claim = 0; claim < 5; ++claim) fetcher_.next_promising();
    one_.weight = 1;
    two_.is_promising = false;
    for (int claim = 0; claim < 5; ++claim) EXPECT_EQ(fetcher_.next_promising(), &one_);
    two_.is_promising = true;
    const worker_queue* last = fetcher_.next_promising();
    for (int claim = 0; claim < 10; ++claim) {
        const worker_queue* const next = fetcher_.next_promising();
        EXPECT_NE(next, last) << claim;
        last = next;
    }
}

TEST_F(job_statements_test, the_first_listed_queue_that_is_promising_is_next) {
    settings_.order = queue_order::as_listed;
    for (int claim = 0; claim < 3; ++claim) EXPECT_EQ(fetcher_.next_promising(), &one_);
    one_.is_promising = false;
    EXPECT_EQ(fetcher_.next_promising(), &two_);
    fetcher_.note_notification("one");
    fetcher_.heed_notifications();
    EXPECT_EQ(fetcher_.next_promising(), &one_);
}

TEST_F(job_statements_test, a_notification_makes_its_queue_promising) {
    one_.is_promising = two_.is_promising = false;
    EXPECT_FALSE(fetcher_.heed_notifications());
    fetcher_.note_notification("two");
    fetcher_.note_notification("two");
    EXPECT_TRUE(fetcher_.was_notified());
    EXPECT_FALSE(two_.is_promising) << "only the worker's thread changes it";
    EXPECT_TRUE(fetcher_.heed_notifications());
    EXPECT_TRUE(two_.is_promising && two_.needs_pass);
    EXPECT_FALSE(one_.is_promising);
    EXPECT_FALSE(fetcher_.heed_notifications()) << "both in one";
}

TEST_F(job_statements_test, a_queue_is_dull_when_it_brings_fewer_than_were_wanted) {
    const claim_request two = fetcher_.request(one_, 2);
    EXPECT_EQ(two.max_jobs, 2);
    EXPECT_EQ(fetcher_.request(one_, 1'000'000).max_jobs, job_store::max_jobs_per_statement);
    EXPECT_EQ(fetcher_.note_claims(one_, two, {claimed_job{}, claimed_job{}}), std::nullopt);
    EXPECT_TRUE(one_.is_promising);
    EXPECT_EQ(fetcher_.note_claims(one_, two, {claimed_job{}}), std::nullopt);
    EXPECT_FALSE(one_.is_promising);
}

// Somebody may have had the jobs locked.
TEST_F(job_statements_test, promised_jobs_are_looked_for_again_ever_more_rarely) {
    const claim_request wanted = fetcher_.request(one_, 2);
    one_.is_promised = true;
    std::vector<std::chrono::nanoseconds> pauses;
    for (int claim = 0; claim < 20; ++claim) {
        const auto now = local_clock::now();
        const auto look_by = fetcher_.note_claims(one_, wanted, {});
        ASSERT_TRUE(look_by);
        EXPECT_GE(*look_by, now + one_.left_pause);
        pauses.push_back(one_.left_pause);
    }
    EXPECT_EQ(pauses.at(0), 50ms);
    EXPECT_EQ(pauses.at(1), 100ms);
    EXPECT_EQ(pauses.back(), worker_queues::max_look);
    fetcher_.note_notification("one");
    fetcher_.heed_notifications();
    EXPECT_TRUE(fetcher_.note_claims(one_, wanted, {}));
    EXPECT_EQ(one_.left_pause, 50ms) << "a notification begins anew";
}

TEST_F(job_statements_test, a_claim_in_doubt_is_looked_for_until_it_cannot_come_any_more) {
    EXPECT_FALSE(fetcher_.is_in_doubt());
    fetcher_.note_in_doubt(one_);
    EXPECT_TRUE(fetcher_.look_for_lost_claims(knows_nothing).empty());
    const job_id id = queue_.enqueue({}).id;
    ASSERT_EQ(claim(mine_).size(), 1U) << "the statement came late";
    const auto lost = fetcher_.look_for_lost_claims(knows_nothing);
    ASSERT_EQ(lost.size(), 1U);
    EXPECT_EQ(lost[0].first, "one");
    EXPECT_EQ(lost[0].second.id, id);
    EXPECT_TRUE(fetcher_.look_for_lost_claims([](const claimed_job&) { return true; }).empty());
    test_time::advance(1min);
    EXPECT_EQ(fetcher_.look_for_lost_claims(knows_nothing).size(), 1U) << "a last look";
    EXPECT_FALSE(fetcher_.is_in_doubt());
    EXPECT_TRUE(fetcher_.look_for_lost_claims(knows_nothing).empty());
}

// ---- the completer

TEST_F(job_statements_test, ends_travel_with_a_claim) {
    const auto made = queue_.enqueue_many({{}, {}});
    auto first = exchange({}, 1, true);
    ASSERT_EQ(first.jobs.size(), 1U);
    EXPECT_EQ(first.jobs[0].id, made.at(0).id);
    EXPECT_EQ(first.queue, "one");
    fetcher_.next_promising();  // the other queue's turn is over
    const auto next = exchange({completed(first.jobs[0])}, 1, true);
    EXPECT_EQ(next.ends, (job_store::end_states{job_state::completed}));
    ASSERT_EQ(next.jobs.size(), 1U);
    EXPECT_EQ(next.jobs[0].id, made.at(1).id);
    const auto last = exchange({completed(next.jobs[0])}, 0, false);
    EXPECT_EQ(last.ends, (job_store::end_states{job_state::completed}));
    EXPECT_TRUE(last.jobs.empty());
}

TEST_F(job_statements_test, an_end_without_an_answer_is_presumed_where_its_claim_has_gone) {
    queue_.enqueue({});
    ended_job end = completed(claim(mine_).at(0));
    ASSERT_TRUE(finish(mine_, end).at(0)) << "and that answer was lost";
    EXPECT_EQ(exchange({end}, 0, false).ends, (job_store::end_states{std::nullopt}));
    end.was_sent = true;
    EXPECT_EQ(exchange({end}, 0, false).ends, (job_store::end_states{job_state::completed}));
}

// A rescued job has the token of the claim that died, and runs again.
TEST_F(job_statements_test, an_end_without_an_answer_is_unknown_where_its_job_was_rescued) {
    for (const job_step step : {job_step::complete, job_step::fail, job_step::discard}) {
        const job_id id = queue_.enqueue({}).id;
        session dies{sound(), settings_of("dies")};
        ended_job end = ended(claim(dies).at(0), step);
        end.was_sent = true;
        rescue_jobs_of(dies);
        ASSERT_EQ(state_of(id), job_state::available);
        EXPECT_EQ(exchange({end}, 0, false).ends, (job_store::end_states{std::nullopt}));
        ASSERT_TRUE(finish(mine_, completed(claim(mine_).at(0))).at(0));
    }
}

// After complete_in() each end is a failure, for the case that its transaction was rolled back.
TEST_F(job_statements_test, an_end_after_complete_in_is_what_the_database_says) {
    queue_.enqueue({});
    const claimed_job job = claim(mine_).at(0);
    ended_job end = ended(job, job_step::fail);
    end.is_in_transaction = true;
    ASSERT_TRUE(finish(mine_, completed(job)).at(0)) << "complete_in() was committed";
    EXPECT_EQ(exchange({end}, 0, false).ends, (job_store::end_states{job_state::completed}));
    end.was_sent = true;
    EXPECT_EQ(exchange({end}, 0, false).ends, (job_store::end_states{std::nullopt}))
        << "the job may have failed by this end, and ended elsewhere";
    queue_.enqueue({});
    end = ended(claim(mine_).at(0), job_step::fail);
    end.is_in_transaction = end.was_sent = true;
    ASSERT_TRUE(finish(mine_, end).at(0)) << "it was rolled back, and that answer was lost";
    const auto became = state_of(end.end.id);
    EXPECT_EQ(exchange({end}, 0, false).ends, (job_store::end_states{became}));
}

// A discarded job stays for a while; its row would be gone if somebody had cancelled it.
TEST_F(job_statements_test, a_discarded_job_without_a_row_may_have_been_cancelled) {
    queue_.enqueue({});
    ended_job end = ended(claim(mine_).at(0), job_step::discard);
    end.was_sent = true;
    ASSERT_TRUE(finish(mine_, end).at(0));
    ASSERT_FALSE(state_of(end.end.id));
    EXPECT_EQ(exchange({end}, 0, false).ends, (job_store::end_states{std::nullopt}));
    completer_.note_kept("one", {});
    EXPECT_EQ(exchange({end}, 0, false).ends, (job_store::end_states{job_state::discarded}));
}

TEST_F(job_statements_test, a_failure_without_an_answer_is_known_by_its_attempt) {
    const job_id id = queue_.enqueue({}).id;
    ended_job end = ended(claim(mine_).at(0), job_step::fail);
    ASSERT_TRUE(finish(mine_, end).at(0)) << "and that answer was lost";
    end.was_sent = true;
    const auto became = state_of(id);
    ASSERT_TRUE(became == job_state::retryable || became == job_state::available);
    EXPECT_EQ(exchange({end}, 0, false).ends, (job_store::end_states{became}));
}

TEST_F(job_statements_test, an_exchange_that_fails_leaves_its_claim_in_doubt) {
    plan_->fail_every("claim", fault::refused);
    session mine{faulty(), settings_of("worker")};
    job_statements parts{mine.inner(), settings_};
    std::vector<ended_job> none;
    EXPECT_THROW(parts.completer.exchange(none, 1, true), error);
    EXPECT_TRUE(parts.fetcher.is_in_doubt());
}

// The first queue's answer would not come again, and its end would be unknown.
TEST_F(job_statements_test, an_exchange_that_fails_midway_keeps_the_answers_that_it_has) {
    session mine{faulty(), settings_of("worker")};
    job_statements parts{mine.inner(), settings_};
    for (const fault how : {fault::refused, fault::lost_on_the_way}) {
        queue_.enqueue({});
        const claimed_job job = claim(mine).at(0);
        ASSERT_TRUE(finish(mine, completed(job)).at(0)) << "complete_in() was committed";
        ended_job first = ended(job, job_step::fail);
        first.is_in_transaction = true;
        ended_job second;
        second.queue = "two";
        std::vector<ended_job> ends{first, second};
        std::atomic<int> seen = 0;
        plan_->fail_when([&seen, how](std::string_view statement, int) {
            const bool is_end = statement.find("finish") != statement.npos;
            return is_end && ++seen > 1 ? std::optional{how} : std::nullopt;
        });
        EXPECT_THROW(parts.completer.exchange(ends, 0, false), error);
        EXPECT_EQ(ends[0].became, job_state::completed);
        EXPECT_FALSE(ends[1].is_answered);
        EXPECT_TRUE(ends[1].was_sent);
        EXPECT_FALSE(ends[0].was_sent);
        plan_->heal();
        parts.completer.exchange(ends, 0, false);
        EXPECT_EQ(ends[0].became, job_state::completed);
        EXPECT_TRUE(ends[1].is_answered);
    }
}

TEST_F(job_statements_test, jobs_that_need_an_ended_one_go_on_when_the_look_tells_of_needs) {
    for (const bool is_known : {true, false}) {
        const job_id needed = queue_.enqueue({}).id;
        new_job waits;
        waits.depends_on = {needed};
        const job_id behind = queue_.enqueue(waits).id;
        const auto claimed = claim(mine_);
        ASSERT_EQ(claimed.size(), 1U);
        completer_.note_needed(is_known);
        EXPECT_FALSE(completer_.settle()) << "nothing has ended";
        exchange({completed(claimed[0])}, 0, false);
        EXPECT_EQ(completer_.may_be_unsettled(), !is_known);
        if (!is_known) {
            EXPECT_NE(state_of(behind), job_state::available);
            completer_.note_needed(true);
            EXPECT_TRUE(completer_.is_unsettled());
            EXPECT_TRUE(completer_.settle());
        }
        EXPECT_EQ(state_of(behind), job_state::available) << is_known;
        ASSERT_TRUE(finish(mine_, completed(claim(mine_).at(0))).at(0));
    }
}

TEST_F(job_statements_test, nobody_waits_where_no_job_is_needed) {
    queue_.enqueue({});
    exchange({completed(claim(mine_).at(0))}, 0, false);
    EXPECT_TRUE(completer_.may_be_unsettled());
    EXPECT_FALSE(completer_.settle());
    EXPECT_FALSE(completer_.may_be_unsettled());
}

// ---- the maintenance

TEST_F(job_statements_test, a_look_makes_due_jobs_available) {
    new_job later;
    later.delay = 1h;
    const job_id id = queue_.enqueue(later).id;
    one_.is_promising = two_.is_promising = false;
    const auto now = local_clock::now();
    const auto next = maintenance_.look(now);
    EXPECT_GT(next, now + 30min);
    EXPECT_FALSE(one_.is_promising);
    EXPECT_TRUE(maintenance_.is_all_done());
    model_.advance(2h);
    const auto at_once = maintenance_.look(local_clock::now());
    EXPECT_LE(at_once, local_clock::now());
    EXPECT_TRUE(one_.is_promising);
    EXPECT_FALSE(two_.is_promising);
    EXPECT_FALSE(maintenance_.is_all_done());
    EXPECT_EQ(state_of(id), job_state::available);
    const auto left = maintenance_.count_left();
    ASSERT_EQ(left.size(), 1U);
    EXPECT_EQ(left[0].queue, "one");
    EXPECT_EQ(left[0].jobs, 1);
}

TEST_F(job_statements_test, one_look_in_a_while_rescues_the_jobs_of_the_dead) {
    const job_id id = queue_.enqueue({}).id;
    ASSERT_EQ(claim(other_).size(), 1U);
    maintenance_.look(local_clock::now());
    EXPECT_EQ(maintenance_.take_rescued(), 0);
    model_.age_session(other_.id(), 2h);
    maintenance_.look(local_clock::now());
    EXPECT_EQ(maintenance_.take_rescued(), 0) << "somebody has just maintained the queue";
    EXPECT_EQ(state_of(id), job_state::running);
    test_time::advance(5s);
    model_.advance(5s);
    one_.is_promising = false;
    maintenance_.look(local_clock::now());
    EXPECT_EQ(maintenance_.take_rescued(), 1);
    EXPECT_EQ(maintenance_.take_rescued(), 0) << "each is told once";
    EXPECT_EQ(state_of(id), job_state::available);
    EXPECT_TRUE(one_.is_promising);
}

TEST_F(job_statements_test, a_look_heeds_the_limits_of_each_queue) {
    maintenance_.look(local_clock::now());
    EXPECT_FALSE(maintenance_.has_limits());
    queue_limits limits;
    limits.max_starts = 10;
    limits.starts_per = 10s;
    queue_.set_limits(limits);
    maintenance_.look(local_clock::now());
    EXPECT_TRUE(maintenance_.has_limits());
    EXPECT_TRUE(one_.has_limits);
    EXPECT_EQ(one_.start_every, 1s);
    EXPECT_FALSE(two_.has_limits);
}

}  // namespace
}  // namespace leasehold::testing
