// Jobs that need others: they wait until those have ended, and go on or are cancelled then.
#include <atomic>
#include <future>

#include "conformance/job_suite.hpp"
#include "jobs/needs.hpp"
#include "leasehold/worker.hpp"
#include "support/eventually.hpp"

namespace leasehold::testing {
namespace {

class job_need_suite : public job_suite {
protected:
    job_id enqueue_after(
        std::vector<job_id> needs,
        dependency_until until = dependency_until::completed,
        new_job what = {}
    ) const {
        what.depends_on = std::move(needs);
        what.depends_until = until;
        return jobs_.enqueue(what).id;
    }
    std::int64_t settle(const std::vector<job_id>& ended) const {
        return with_stores(second_, [&](connection& on, store_set& stores) {
            return settle_needs(on, stores, ended, [](const std::string&) {});
        });
    }
    // All of it, some rows at a time.
    std::int64_t settle_left() const {
        return with_stores(second_, [&](connection& on, store_set& stores) {
            std::int64_t freed = 0;
            need_places places;
            bool is_over_through = false, is_waiting_through = false;
            while (!is_over_through || !is_waiting_through) {
                freed += settle_left_needs(on, stores, queue_, places, [](const std::string&) {});
                is_over_through = is_over_through || places.over.needs == 0;
                is_waiting_through = is_waiting_through || places.waiting == 0;
            }
            return freed;
        });
    }
    void complete_next() const { EXPECT_TRUE(one_.complete(one_.claim_one())); }
    void discard_next() const {
        EXPECT_TRUE(one_.finish(end_of(one_.claim_one(), job_step::discard, 0s, "no use")));
    }
    bool is_needed(job_id id) const {
        return with_stores(second_, [&](connection& on, store_set& stores) {
            return stores.get<job_need_store>().is_needed(on, id);
        });
    }
    // Does all there is, some at a time.
    leasehold::worker_report drain(const job_handler& with, int threads = 2) const {
        session mine{second_, calm("worker")};
        leasehold::worker does{
            mine,
            {.queues = {queue_},
             .concurrency = threads,
             .prefetch = 4,
             .poll_every = 20ms,
             .stop_when_idle = true}};
        does.handle_all(with);
        return does.run();
    }

    const job_queue jobs_{first_, queue_};
};

TEST_F(job_need_suite, it_is_blocked_until_what_it_needs_has_completed) {
    const job_id first = enqueue(), then = enqueue_after({first});
    EXPECT_EQ(state(then), job_state::blocked);
    EXPECT_EQ(find_job(second_, then)->depends_on, std::vector{first});
    EXPECT_EQ(find_job(second_, then)->needed_by, std::vector<job_id>{});
    EXPECT_EQ(find_job(second_, first)->needed_by, std::vector{then});
    EXPECT_EQ(look().next_due_in, std::nullopt) << "nothing comes due by time";
    EXPECT_TRUE(look().some_are_needed);
    EXPECT_EQ(settle({first}), 0) << "it has not ended";
    EXPECT_EQ(promote(), 0);
    const auto running = one_.claim(10);
    EXPECT_EQ(ids_of(running), std::vector{first});
    EXPECT_EQ(settle({first}), 0) << "it runs";
    EXPECT_TRUE(one_.complete(running.at(0)));
    EXPECT_EQ(settle({first}), 1);
    EXPECT_EQ(state(then), job_state::available);
    EXPECT_FALSE(is_needed(first));
    EXPECT_EQ(settle({first}), 0) << "again";
    EXPECT_EQ(ids_of(one_.claim(10)), std::vector{then});
}

TEST_F(job_need_suite, it_waits_for_the_last_of_those_it_needs) {
    const job_id a = enqueue(), b = enqueue(), c = enqueue(), then = enqueue_after({c, a, b, a});
    EXPECT_EQ(find_job(second_, then)->depends_on, (std::vector{a, b, c}));
    complete_next();
    EXPECT_EQ(settle({a}), 0);
    complete_next();
    EXPECT_EQ(settle({a, b}), 0);
    EXPECT_EQ(find_job(second_, then)->depends_on, std::vector{c});
    complete_next();
    EXPECT_EQ(settle({c}), 1);
}

TEST_F(job_need_suite, one_that_is_not_told_of_is_found_in_turn) {
    const job_id first = enqueue(), then = enqueue_after({first});
    EXPECT_EQ(settle_left(), 0);
    complete_next();
    EXPECT_EQ(settle_left(), 1);
    EXPECT_EQ(state(then), job_state::available);
}

// Two took the last rows at once, and both died before they looked again.
TEST_F(job_need_suite, one_whose_rows_are_gone_goes_on) {
    const job_id first = enqueue(), then = enqueue_after({first});
    complete_next();
    with_stores(second_, [&](connection& on, store_set& stores) {
        const auto over = stores.get<job_need_store>().over(on, {first});
        on.begin();
        stores.get<job_need_store>().forget(on, over);
        on.commit();
        return true;
    });
    EXPECT_EQ(state(then), job_state::blocked);
    EXPECT_FALSE(is_needed(first));
    EXPECT_TRUE(look().some_wait);
    EXPECT_EQ(drain([](leasehold::job&) {}).completed, 1) << "a worker that drains sees to it";
    EXPECT_FALSE(find(then));
}

TEST_F(job_need_suite, it_is_cancelled_where_one_it_needs_is_given_up) {
    const job_id first = enqueue(), then = enqueue_after({first}), last = enqueue_after({then});
    discard_next();
    EXPECT_EQ(settle({first}), 0);
    EXPECT_EQ(state(then), job_state::cancelled);
    EXPECT_EQ(info(then).error, "it needs job " + std::to_string(first) + ", which was discarded");
    EXPECT_EQ(state(last), job_state::cancelled) << "and who needs that one";
    EXPECT_EQ(info(last).error, "it needs job " + std::to_string(then) + ", which was cancelled");
    EXPECT_FALSE(is_needed(first) || is_needed(then));
}

TEST_F(job_need_suite, it_goes_on_where_that_is_what_it_wants) {
    const job_id first = enqueue(), then = enqueue_after({first}, dependency_until::ended);
    discard_next();
    EXPECT_EQ(settle({first}), 1);
    EXPECT_EQ(state(then), job_state::available);
}

// Somebody died, or is at it, between the reason and the cancelling.
TEST_F(job_need_suite, it_is_cancelled_also_where_the_reason_stands_there) {
    const job_id first = enqueue(), then = enqueue_after({first});
    discard_next();
    const std::string why = "it needs job " + std::to_string(first) + ", which was discarded";
    constexpr auto noted = job_need_store::note_outcome::noted;
    with_stores(second_, [&](connection& on, store_set& stores) {
        EXPECT_EQ(stores.get<job_need_store>().note_reason(on, then, why), noted);
        EXPECT_EQ(stores.get<job_need_store>().note_reason(on, then, why), noted);
        return true;
    });
    settle({first});
    EXPECT_EQ(state(then), job_state::cancelled);
}

TEST_F(job_need_suite, replacing_its_payload_leaves_it_waiting) {
    const job_id first = enqueue();
    new_job what = unique("one");
    const job_id then = enqueue_after({first}, dependency_until::completed, what);
    what.conflict = on_conflict::replace;
    what.payload = "new";
    EXPECT_EQ(jobs_.enqueue(what).id, then);
    EXPECT_EQ(state(then), job_state::blocked);
    EXPECT_EQ(info(then).payload, "new");
    what.delay = 1h;
    EXPECT_EQ(jobs_.enqueue(what).id, then);
    EXPECT_EQ(state(then), job_state::blocked) << "also by one with a time";
    what.delay = 0s;
    what.depends_on = {first};
    const auto refused = thrown_by([&] { jobs_.enqueue(what); });
    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->code(), errc::invalid_argument);
    complete_next();
    EXPECT_EQ(settle({first}), 1);
}

TEST_F(job_need_suite, what_is_needed_stays_in_the_history_until_nobody_needs_it) {
    set_limits({.keep_discarded = 0s, .keep_cancelled = 0s});
    new_job what;
    what.retry.max_attempts = 1;
    const job_id first = enqueue(what), then = enqueue_after({first});
    // A worker that has looked before there was a need asks when it discards.
    drain([](leasehold::job&) { throw std::runtime_error("it fails"); });
    EXPECT_EQ(state(then), job_state::cancelled);
    EXPECT_EQ(state(first), job_state::discarded);
}

// Without its row, a job counts as completed.
TEST_F(job_need_suite, a_job_that_another_one_waits_for_is_not_deleted) {
    new_job what;
    what.retry.max_attempts = 1;
    const job_id first = enqueue(what);
    const job_id then = enqueue_after({first});
    discard_next();
    EXPECT_EQ(delete_job(second_, first), delete_outcome::needed);
    EXPECT_EQ(state(first), job_state::discarded);
    EXPECT_EQ(settle({first}), 0);
    EXPECT_EQ(state(then), job_state::cancelled);
    EXPECT_EQ(delete_job(second_, then), delete_outcome::deleted);
    EXPECT_EQ(delete_job(second_, first), delete_outcome::deleted);
    EXPECT_FALSE(find_job(second_, first));
}

// Such a job is kept like one that its worker ends.
TEST_F(job_need_suite, a_job_of_a_dead_worker_is_kept_for_those_that_wait_for_it_alone) {
    set_limits({.keep_discarded = 0s, .keep_cancelled = 0s});
    const job_queue others{first_, fresh("others")};
    others.enqueue({.depends_on = {others.enqueue({}).id}});
    new_job what;
    what.max_rescues = 1;
    const job_id given_up = enqueue(what), cancelled = enqueue(), needed = enqueue(what);
    const job_id then = enqueue_after({needed});
    ASSERT_EQ(one_.claim(3).size(), 3U);
    EXPECT_EQ(cancel(cancelled), cancel_outcome::requested);
    expire(one_.mine);
    session mine{second_, calm("heir")};
    leasehold::worker heir{mine, {.queues = {queue_}, .concurrency = 1, .poll_every = 20ms}};
    heir.handle_all([](leasehold::job&) {});
    std::stop_source stop;
    auto running = std::async(std::launch::async, [&] { return heir.run(stop.get_token()); });
    EXPECT_TRUE(eventually([&] { return !find(given_up); })) << "nobody waits for this one";
    EXPECT_TRUE(eventually([&] { return !find(cancelled); }));
    EXPECT_TRUE(eventually([&] { return find(then) && state(then) == job_state::cancelled; }));
    stop.request_stop();
    EXPECT_EQ(running.get().completed, 0);
}

TEST_F(job_need_suite, a_failed_attempt_is_no_end) {
    const job_id first = enqueue(), then = enqueue_after({first});
    EXPECT_TRUE(one_.fail(one_.claim_one()));
    EXPECT_EQ(settle({first}), 0);
    EXPECT_EQ(settle_left(), 0);
    EXPECT_EQ(state(then), job_state::blocked);
}

TEST_F(job_need_suite, what_has_ended_before_keeps_nobody_waiting) {
    const job_id first = enqueue();
    complete_next();
    EXPECT_FALSE(find(first)) << "nothing is kept of it";
    EXPECT_EQ(state(enqueue_after({first})), job_state::available);
}

TEST_F(job_need_suite, one_that_was_cancelled_before_cancels_it) {
    const job_id first = enqueue();
    EXPECT_EQ(cancel(first), cancel_outcome::cancelled);
    EXPECT_EQ(state(enqueue_after({first})), job_state::cancelled);
}

TEST_F(job_need_suite, cancelling_what_is_needed_cancels_those_who_wait_even_where_none_is_kept) {
    set_limits({.keep_discarded = 0s, .keep_cancelled = 0s});
    const job_id first = enqueue(), then = enqueue_after({first});
    EXPECT_EQ(cancel_job(second_, first), cancel_outcome::cancelled);
    EXPECT_EQ(state(then), job_state::cancelled);
}

TEST_F(job_need_suite, cancelling_who_waits_leaves_the_other) {
    const job_id first = enqueue(), then = enqueue_after({first});
    EXPECT_EQ(cancel_job(second_, then), cancel_outcome::cancelled);
    EXPECT_EQ(state(first), job_state::available);
    EXPECT_EQ(find_job(second_, first)->needed_by, std::vector<job_id>{});
    complete_next();
    EXPECT_EQ(settle({first}), 0);
    EXPECT_EQ(state(then), job_state::cancelled);
}

TEST_F(job_need_suite, a_retry_lets_it_run_at_once) {
    const job_id first = enqueue(), then = enqueue_after({first});
    EXPECT_EQ(retry(then), retry_outcome::available);
    EXPECT_EQ(state(then), job_state::available);
    EXPECT_EQ(find_job(second_, first)->needed_by, std::vector<job_id>{});
    discard_next();
    settle({first});
    EXPECT_EQ(state(then), job_state::available) << "it waits no more";
}

TEST_F(job_need_suite, nothing_is_there_where_the_transaction_is_rolled_back) {
    const job_id first = enqueue();
    {
        transaction tx = first_.begin();
        jobs_.enqueue_in(tx, {.depends_on = {first}});
        tx.rollback();
    }
    EXPECT_FALSE(is_needed(first));
    transaction tx = first_.begin();
    const job_id then = jobs_.enqueue_in(tx, {.depends_on = {first}}).id;
    tx.commit();
    EXPECT_EQ(state(then), job_state::blocked);
    complete_next();
    EXPECT_EQ(settle_left(), 1);
}

TEST_F(job_need_suite, those_of_a_list_may_need_each_other_in_any_order) {
    const auto made = jobs_.enqueue_many(
        {{.depends_on_listed = {2}},
         {.depends_on_listed = {0, 2}},
         {},
         {.depends_on_listed = {1, 1}}}
    );
    EXPECT_EQ(state(made[2].id), job_state::available);
    EXPECT_EQ(find_job(second_, made[1].id)->depends_on, (std::vector{made[0].id, made[2].id}));
    std::vector<job_id> order;
    std::mutex mutex;
    drain([&](leasehold::job& mine) {
        const std::lock_guard guard{mutex};
        order.push_back(mine.id());
    });
    EXPECT_EQ(order, (std::vector{made[2].id, made[0].id, made[1].id, made[3].id}));
}

TEST_F(job_need_suite, a_circle_is_refused_and_named) {
    const auto refused = [&](const std::vector<new_job>& list, const std::string& words) {
        const auto failure = thrown_by([&] { jobs_.enqueue_many(list); });
        ASSERT_TRUE(failure) << words;
        EXPECT_EQ(failure->code(), errc::invalid_argument);
        EXPECT_NE(std::string(failure->what()).find(words), std::string::npos) << failure->what();
        EXPECT_TRUE(list_jobs(first_, {.queue = queue_}).empty());
    };
    refused({{.depends_on_listed = {0}}}, "circle, or for one that does: 0");
    refused(
        {{}, {.depends_on_listed = {3}}, {.depends_on_listed = {1, 0}}, {.depends_on_listed = {2}}},
        "circle, or for one that does: 1, 2, 3"
    );
    refused({{.depends_on_listed = {1}}}, "needs job 1, and the list has 1, from 0 on");
    refused({{.depends_on = {job_id{1} << 60}}}, "it was never enqueued");
    refused({{.depends_on = {0}}}, "there is no job 0");
    refused({{.delay = 1s, .depends_on = {1}}}, "no run_at and no delay");
    // The third is the first.
    refused(
        {{.unique_key = "k", .depends_on_listed = {1}},
         {.depends_on_listed = {2}},
         {.unique_key = "k"}},
        "circle, or for one that does: 0, 1"
    );
}

TEST_F(job_need_suite, a_batch_ends_with_a_job_that_runs_when_all_are_done) {
    constexpr int jobs = 300;
    std::vector<new_job> list(jobs);
    for (int number = 0; number < jobs; ++number) {
        list[static_cast<std::size_t>(number)].kind = number % 7 == 0 ? "bad" : "good";
        list[static_cast<std::size_t>(number)].retry.max_attempts = 1;
    }
    const auto batch = jobs_.enqueue_batch(list, {.kind = "then"});
    EXPECT_EQ(batch.jobs.size(), std::size_t{jobs});
    EXPECT_EQ(state(batch.then.id), job_state::blocked);
    std::atomic<int> done = 0, before = -1;
    const auto report = drain(
        [&](leasehold::job& mine) {
            if (mine.kind() == "then") {
                before = done.load();
                return;
            }
            ++done;
            if (mine.kind() == "bad") throw std::runtime_error("it fails");
        },
        4
    );
    EXPECT_EQ(before, jobs);
    EXPECT_EQ(report.completed + report.failed, jobs + 1);
    for (const enqueued_job& each : batch.jobs) EXPECT_FALSE(is_needed(each.id));
}

TEST_F(job_need_suite, a_batch_of_nothing_is_done_at_once) {
    EXPECT_EQ(state(jobs_.enqueue_batch({}, {}).then.id), job_state::available);
}

TEST_F(job_need_suite, those_who_wait_are_counted_and_listed_as_blocked) {
    const job_id first = enqueue(), then = enqueue_after({first});
    const auto counted = jobs_.describe().jobs;
    EXPECT_EQ(counted.at(job_state::blocked), 1);
    EXPECT_EQ(counted.at(job_state::available), 1);
    EXPECT_FALSE(counted.contains(job_state::scheduled));
    const auto listed = list_jobs(first_, {.queue = queue_, .state = job_state::blocked});
    ASSERT_EQ(listed.size(), 1U);
    EXPECT_EQ(listed[0].id, then);
    EXPECT_TRUE(list_jobs(first_, {.queue = queue_, .state = job_state::scheduled}).empty());
}

TEST_F(job_need_suite, whoever_ends_the_last_ones_at_once_it_is_freed) {
    constexpr int rounds = 10, ends = 4;
    for (int round = 0; round < rounds; ++round) {
        const auto ids = enqueue_many(ends);
        const job_id then = enqueue_after(ids);
        const auto claimed = one_.claim(ends);
        ASSERT_EQ(claimed.size(), std::size_t{ends});
        std::atomic<std::int64_t> freed = 0;
        {
            std::vector<thread> threads;
            for (const claimed_job& each : claimed) {
                threads.emplace_back([&, each] {
                    const database own = open();
                    with_stores(own, [&](connection& on, store_set& stores) {
                        EXPECT_TRUE(stores.get<job_store>()
                                        .finish(
                                            on,
                                            one_.mine.id(),
                                            {end_of(each, job_step::complete)},
                                            one_.kept
                                        )
                                        .at(0));
                        freed += settle_needs(on, stores, {each.id}, [](const std::string&) {});
                        return true;
                    });
                });
            }
        }
        EXPECT_EQ(freed, 1);
        EXPECT_EQ(state(then), job_state::available);
        EXPECT_TRUE(one_.complete(one_.claim_one()));
    }
}

}  // namespace
}  // namespace leasehold::testing
