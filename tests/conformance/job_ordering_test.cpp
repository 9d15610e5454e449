// Ordering keys: jobs of one key are done one after the other, in the order of their ids.
#include <map>
#include <random>

#include "conformance/job_suite.hpp"
#include "support/required.hpp"

namespace leasehold::testing {
namespace {

class job_ordering_suite : public job_suite {
protected:
    void allow_per_key(int max_running_per_key) const {
        queue_limits limits;
        limits.max_running_per_key = max_running_per_key;
        set_limits(limits);
    }
    job_id enqueue_in_other_process(transaction& tx, const new_job& what) const {
        return with_stores_in(second_, tx, [&](connection& on, store_set& stores) {
            return stores.get<job_store>().enqueue(on, queue_, {what}).at(0).id;
        });
    }
    // All that can be claimed once nothing is under way any more.
    std::vector<job_id> claim_after_unblocking() const {
        unblock();
        return ids_of(two_.claim(100));
    }
};

TEST_F(job_ordering_suite, jobs_of_one_key_run_one_after_the_other) {
    const auto ids = enqueue_many(4, keyed("k"));
    for (const job_id each : ids) {
        const auto got = one_.claim(10);
        ASSERT_EQ(ids_of(got), std::vector{each});
        EXPECT_TRUE(two_.claim(10).empty());
        EXPECT_EQ(unblock(), 0);
        EXPECT_TRUE(one_.claim(10).empty());
        EXPECT_TRUE(one_.complete(got[0]));
    }
    EXPECT_TRUE(one_.claim(10).empty());
}

TEST_F(job_ordering_suite, whatever_their_priority) {
    new_job late = keyed("k");
    late.priority = 10;
    const job_id first = enqueue(late);
    const job_id second = enqueue(keyed("k"));
    for (const job_id each : {first, second}) {
        const auto got = one_.claim(10);
        ASSERT_EQ(ids_of(got), std::vector{each});
        EXPECT_TRUE(one_.complete(got[0]));
    }
}

TEST_F(job_ordering_suite, keys_know_nothing_of_each_other) {
    const job_id a = enqueue(keyed("a")), behind_a = enqueue(keyed("a"));
    const job_id b = enqueue(keyed("b")), free = enqueue(), upper = enqueue(keyed("A"));
    EXPECT_EQ(ids_of(one_.claim(10)), (std::vector{a, b, free, upper}));
    EXPECT_EQ(state(behind_a), job_state::blocked);
    const worker elsewhere{second_, fresh("elsewhere")};
    const auto same = with_stores(second_, [&](connection& on, store_set& stores) {
        return stores.get<job_store>().enqueue(on, elsewhere.queue, {keyed("a")});
    });
    EXPECT_EQ(ids_of(elsewhere.claim(10)), std::vector{same.at(0).id});
}

TEST_F(job_ordering_suite, enqueuing_sees_who_stands_before) {
    const auto made = enqueue_all({keyed("k"), keyed("k"), keyed("j")});
    EXPECT_EQ(state(made[0].id), job_state::available);
    EXPECT_EQ(state(made[1].id), job_state::blocked);
    EXPECT_EQ(state(made[2].id), job_state::available);
    EXPECT_EQ(state(enqueue(keyed("j"))), job_state::blocked);
}

// A list is as the same jobs one by one, on every engine.
TEST_F(job_ordering_suite, a_list_is_placed_as_its_jobs_one_by_one) {
    const auto of = [](const char* ordering_key, std::chrono::milliseconds delay) {
        new_job what = keyed(ordering_key);
        what.delay = delay;
        return what;
    };
    new_job on_a_date = keyed("date");
    on_a_date.run_at = schedule::instant{std::chrono::sys_days{std::chrono::year{2900} / 1 / 1}};
    new_job past = keyed("past");
    past.run_at = schedule::instant{};
    const std::vector<new_job> what{
        of("k", 1h),
        of("k", 0s),
        of("k", 0s),
        of("j", 0s),
        of("j", 1h),
        of("j", 0s),
        on_a_date,
        keyed("date"),
        keyed("date"),
        past,
        keyed("past"),
        {},
    };
    const auto states = [&](const std::vector<enqueued_job>& made) {
        std::vector<job_state> all;
        for (const enqueued_job& each : made) all.push_back(info(each.id).state);
        return all;
    };
    const auto in_a_list = states(enqueue_all(what));
    std::vector<enqueued_job> singly;
    for (new_job each : what) {
        if (!each.ordering_key.empty()) each.ordering_key += " singly";
        singly.push_back(try_enqueue(each));
    }
    EXPECT_EQ(in_a_list, states(singly));
    using enum job_state;
    const std::vector expected{
        scheduled,
        available,
        blocked,
        available,
        scheduled,
        blocked,
        scheduled,
        available,
        blocked,
        available,
        blocked,
        available,
    };
    EXPECT_EQ(in_a_list, expected);
}

// Nobody would free a job that is behind one which was never inserted.
TEST_F(job_ordering_suite, one_that_was_there_already_blocks_none_of_its_list) {
    new_job taken = keyed("other");
    taken.unique_key = "u";
    const job_id first = enqueue(taken);
    taken.ordering_key = "k";
    const auto made = enqueue_all({taken, keyed("k"), keyed("k")});
    EXPECT_EQ(made[0].id, first);
    EXPECT_EQ(ids_of(one_.claim(10)), (std::vector{first, made[1].id}));
    EXPECT_EQ(state(made[2].id), job_state::blocked);
}

TEST_F(job_ordering_suite, one_that_waits_for_its_next_attempt_holds_those_behind_it) {
    const auto ids = enqueue_many(2, keyed("k"));
    EXPECT_TRUE(one_.fail(one_.claim_one()));
    EXPECT_EQ(unblock(), 0);
    EXPECT_TRUE(one_.claim(10).empty());
    EXPECT_TRUE(two_.claim(10).empty());
    make_due(ids[0]);
    const auto got = one_.claim(10);
    ASSERT_EQ(ids_of(got), std::vector{ids[0]});
    EXPECT_TRUE(one_.complete(got[0]));
    EXPECT_EQ(ids_of(one_.claim(10)), std::vector{ids[1]});
}

TEST_F(job_ordering_suite, one_that_is_not_due_yet_does_not) {
    new_job later = keyed("k");
    later.delay = 1h;
    const job_id scheduled = enqueue(later), second = enqueue(keyed("k"));
    const job_id third = enqueue(keyed("k"));
    const auto got = one_.claim(10);
    ASSERT_EQ(ids_of(got), std::vector{second});
    make_due(scheduled);
    EXPECT_TRUE(two_.claim(10).empty()) << "one of its key runs, though it came after";
    EXPECT_TRUE(one_.complete(got[0]));
    const auto next = claim_after_unblocking();
    EXPECT_EQ(next, std::vector{scheduled});
    EXPECT_EQ(state(third), job_state::blocked);
}

TEST_F(job_ordering_suite, a_snoozed_one_lets_the_next_pass) {
    const auto ids = enqueue_many(3, keyed("k"));
    EXPECT_TRUE(one_.finish(end_of(one_.claim_one(), job_step::snooze, 1h)));
    const auto got = one_.claim(10);
    ASSERT_EQ(ids_of(got), std::vector{ids[1]});
    EXPECT_TRUE(one_.finish(end_of(got[0], job_step::release)));
    EXPECT_EQ(ids_of(one_.claim(10)), std::vector{ids[1]}) << "a released one is the first again";
}

TEST_F(job_ordering_suite, any_end_lets_the_next_go_on) {
    const auto ids = enqueue_many(6, keyed("k"));
    EXPECT_TRUE(one_.finish(end_of(one_.claim_one(), job_step::discard)));
    EXPECT_TRUE(one_.finish(end_of(one_.claim_one(), job_step::cancel)));
    EXPECT_EQ(state(ids[2]), job_state::available);
    EXPECT_EQ(cancel(ids[2]), cancel_outcome::cancelled);
    EXPECT_EQ(state(ids[3]), job_state::available);
    EXPECT_TRUE(one_.fail(one_.claim_one()));
    EXPECT_EQ(cancel(ids[3]), cancel_outcome::cancelled) << "while it waits for its next attempt";
    EXPECT_EQ(one_.claim_one().id, ids[4]);
    EXPECT_EQ(cancel(ids[5]), cancel_outcome::cancelled) << "while it is blocked";
    EXPECT_EQ(state(ids[4]), job_state::running);
}

TEST_F(job_ordering_suite, a_rescued_one_is_the_first_again) {
    new_job what = keyed("k");
    what.max_rescues = 2;
    const auto ids = enqueue_many(2, what);
    one_.claim_one();
    expire(one_.mine);
    EXPECT_EQ(rescue().rescued, 1);
    EXPECT_EQ(ids_of(two_.claim(10)), std::vector{ids[0]});
    expire(two_.mine);
    EXPECT_EQ(rescue().quarantined, 1);
    revive(one_.mine);
    EXPECT_EQ(ids_of(one_.claim(10)), std::vector{ids[1]}) << "the first is given up";
}

TEST_F(job_ordering_suite, several_of_a_key_run_where_that_is_allowed) {
    allow_per_key(2);
    const auto ids = enqueue_many(5, keyed("k"));
    auto got = one_.claim(10);
    ASSERT_EQ(ids_of(got), (std::vector{ids[0], ids[1]}));
    EXPECT_TRUE(two_.claim(10).empty());
    EXPECT_TRUE(one_.complete(got[1]));
    const auto third = two_.claim(10);
    ASSERT_EQ(ids_of(third), std::vector{ids[2]});
    const std::vector ends{end_of(got[0], job_step::complete)};
    EXPECT_EQ(one_.finish_all(ends), std::vector{true});
    EXPECT_EQ(ids_of(one_.claim(10)), std::vector{ids[3]});
    EXPECT_TRUE(two_.claim(10).empty());
}

TEST_F(job_ordering_suite, as_many_go_on_as_have_ended_at_once) {
    allow_per_key(3);
    const auto ids = enqueue_many(6, keyed("k"));
    std::vector<job_end> ends;
    for (const auto& each : one_.claim(10)) ends.push_back(end_of(each, job_step::complete));
    ASSERT_EQ(ends.size(), 3U);
    EXPECT_EQ(one_.finish_all(ends), (std::vector{true, true, true}));
    EXPECT_EQ(one_.claim(10).size(), 3U);
}

// ------------------------------------------------------------------- what nobody saw of another

TEST_F(job_ordering_suite, one_that_was_enqueued_while_the_last_before_it_ended_is_found) {
    enqueue(keyed("k"));
    const claimed_job before = one_.claim_one();
    transaction tx = second_.begin();
    const job_id behind = enqueue_in_other_process(tx, keyed("k"));
    bool has_ended = false;
    while_open([&] { has_ended = one_.complete(before); }, [&] { tx.commit(); });
    EXPECT_TRUE(has_ended);
    EXPECT_EQ(claim_after_unblocking(), std::vector{behind});
}

TEST_F(job_ordering_suite, one_that_was_enqueued_before_an_end_was_committed_is_found) {
    enqueue(keyed("k"));
    const claimed_job before = one_.claim_one();
    transaction tx = first_.begin();
    EXPECT_EQ(one_.finish_all_in(tx, {end_of(before, job_step::complete)}), std::vector{true});
    std::vector<enqueued_job> behind;
    while_open(
        [&] {
            behind = with_stores(second_, [&](connection& on, store_set& stores) {
                return stores.get<job_store>().enqueue(on, queue_, {keyed("k")});
            });
        },
        [&] { tx.commit(); }
    );
    EXPECT_EQ(claim_after_unblocking(), std::vector{behind.at(0).id});
}

// The order is that of the ids as far as they were committed: see job_queue.hpp. A statement whose
// answer was lost may commit as late as this one.
TEST_F(job_ordering_suite, one_that_is_committed_late_is_the_next_of_those_that_have_not_begun) {
    if (!current().has_concurrent_writers) return;
    for (const job_step step : {job_step::complete, job_step::fail, job_step::release}) {
        transaction tx = second_.begin();
        const job_id late = enqueue_in_other_process(tx, keyed("k"));
        const std::vector<job_id> prompt = enqueue_many(2, keyed("k"));
        const claimed_job begun = one_.claim_one();
        EXPECT_EQ(begun.id, prompt[0]) << "the other one may never be committed";
        tx.commit();
        EXPECT_TRUE(one_.claim(10).empty()) << "one at a time";
        EXPECT_TRUE(one_.finish(end_of(begun, step)));
        std::vector<job_id> left{late, prompt[0], prompt[1]};
        if (step == job_step::complete) left = {late, prompt[1]};
        if (step == job_step::fail) make_due(prompt[0]);
        for (const job_id next : left) {
            unblock();
            const claimed_job got = one_.claim_one();
            EXPECT_EQ(got.id, next) << static_cast<int>(step);
            EXPECT_TRUE(one_.complete(got));
        }
    }
}

TEST_F(job_ordering_suite, unblocking_looks_at_all_in_turn_and_begins_again) {
    new_job what = keyed("k");
    for (const int priority : {3, 1, 2, 1, 0}) {
        what.priority = priority;
        enqueue(what);
    }
    what.ordering_key = "j";
    enqueue_many(4, what);
    allow_per_key(3);
    blocked_place place;
    std::int64_t freed = 0;
    int looks = 0;
    do {
        freed += unblock(1, place);
        ++looks;
        ASSERT_LT(looks, 20);
    } while (!place.is_beginning());
    EXPECT_EQ(freed, 4) << "two of each key: one is available, and three may run";
    EXPECT_GE(looks, 2) << "one of two keys at a time";
    EXPECT_EQ(one_.claim(100).size(), 6U);
    EXPECT_EQ(unblock(100, place), 0);
}

// ----------------------------------------------------------------------------------- at random

// The events of each key's jobs, in the order in which their workers saw them.
class key_history {
public:
    void began(const claimed_job& job) {
        const std::lock_guard guard{mutex_};
        auto& seen = keys_[job.ordering_key];
        EXPECT_EQ(seen.running, 0) << job.ordering_key << ": beside job " << seen.running;
        EXPECT_GE(job.id, seen.ended_to) << job.ordering_key << ": behind one that came later";
        seen.running = job.id;
    }
    // Before the end is sent: nobody can have begun the next before that.
    void ends(const claimed_job& job, bool for_ever) {
        const std::lock_guard guard{mutex_};
        auto& seen = keys_[job.ordering_key];
        seen.running = 0;
        if (for_ever) seen.ended_to = job.id;
        ended_ += for_ever ? 1 : 0;
    }
    int ended() const {
        const std::lock_guard guard{mutex_};
        return ended_;
    }

private:
    struct seen_of_key {
        job_id running = 0;
        job_id ended_to = 0;
    };
    mutable std::mutex mutex_;
    std::map<std::string, seen_of_key> keys_;
    int ended_ = 0;
};

TEST_F(job_ordering_suite, whoever_claims_and_ends_at_once_each_key_has_one_at_a_time_in_order) {
    constexpr int workers = 5, keys = 4, jobs = 160;
    key_history history;
    const unsigned long chosen = seed();
    const auto work = [&](int number) {
        std::mt19937_64 random{chosen + static_cast<unsigned long>(number)};
        const worker mine{open(), queue_};
        const auto has_all_ended = [&] { return history.ended() == jobs; };
        const auto step = [&] {
            const auto got = mine.claim(1 + static_cast<int>(random() % 4));
            for (const claimed_job& each : got) history.began(each);
            for (const claimed_job& each : got) {
                const bool is_last = random() % 4 != 0;
                history.ends(each, is_last);
                const auto how = is_last ? job_step::complete : job_step::release;
                EXPECT_TRUE(mine.finish(end_of(each, how)));
            }
            if (got.empty()) unblock();
            return has_all_ended();
        };
        EXPECT_TRUE(eventually(step, 60s));
    };
    std::vector<thread> threads;
    for (int each = 0; each < workers; ++each) threads.emplace_back(work, each);
    // Enqueued one by one while they work, by one process: so in the order of their commits.
    std::mt19937_64 random{chosen};
    for (int each = 0; each < jobs; ++each) {
        new_job what = keyed("k" + std::to_string(random() % keys));
        what.priority = static_cast<int>(random() % 3);
        enqueue(what);
    }
    threads.clear();
    EXPECT_EQ(history.ended(), jobs);
    EXPECT_TRUE(one_.claim(10).empty());
}

}  // namespace
}  // namespace leasehold::testing
