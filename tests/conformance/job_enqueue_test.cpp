// Enqueuing: in whose commit, in what order, and of one unique key one.
#include "conformance/job_suite.hpp"
#include "leasehold/schedule.hpp"
#include "runs/run_store.hpp"

namespace leasehold::testing {
namespace {

class job_enqueue_suite : public job_suite {
protected:
    static new_job until_started(const std::string& key) {
        new_job made = unique(key);
        made.unique = unique_until::started;
        return made;
    }
    // A date so far from now by the database's clock.
    new_job at(std::chrono::microseconds from_now) const {
        new_job made;
        made.run_at = with_stores(first_, [&](connection& on, store_set& stores) {
            return stores.get<run_store>().look(on, key{fresh("clock")}).now + from_now;
        });
        return made;
    }
};

TEST_F(job_enqueue_suite, later_ones_of_a_list_have_greater_ids) {
    std::vector<new_job> what(job_store::max_jobs_per_statement);
    for (std::size_t each = 0; each < what.size(); ++each) {
        what[each].payload = std::to_string(each);
        // Some of each sort, so that whatever is answered first has to be put in order.
        if (each % 3 == 0) what[each].unique_key = "u" + std::to_string(what.size() - each);
        if (each % 5 == 0) what[each].ordering_key = "o";
        what[each].priority = static_cast<int>(each % 7);
    }
    const auto made = enqueue_all(what);
    ASSERT_EQ(made.size(), what.size());
    for (std::size_t each = 0; each < made.size(); ++each) {
        EXPECT_TRUE(made[each].is_new);
        if (each > 0) {
            ASSERT_GT(made[each].id, made[each - 1].id);
        }
    }
    for (const std::size_t each : {0U, 1U, 3U, 5U, 500U, 999U}) {
        EXPECT_EQ(info(made[each].id).payload, what[each].payload);
    }
    EXPECT_TRUE(enqueue_all({}).empty());
}

TEST_F(job_enqueue_suite, what_was_enqueued_is_described) {
    new_job what;
    what.kind = "kind";
    what.payload = "payload";
    what.priority = -32'768;
    what.unique_key = "unique";
    what.ordering_key = "ordering";
    what.retry.max_attempts = 10'000;
    const job_info seen = info(enqueue(what));
    EXPECT_EQ(seen.queue, queue_);
    EXPECT_EQ(seen.kind, "kind");
    EXPECT_EQ(seen.state, job_state::available);
    EXPECT_EQ(seen.priority, -32'768);
    EXPECT_EQ(seen.attempts, 0);
    EXPECT_EQ(seen.max_attempts, 10'000);
    EXPECT_EQ(seen.rescues, 0);
    EXPECT_EQ(seen.token.number, 0);
    EXPECT_EQ(seen.payload, "payload");
    EXPECT_EQ(seen.unique_key, "unique");
    EXPECT_EQ(seen.ordering_key, "ordering");
    EXPECT_EQ(seen.node_info + seen.progress + seen.error + seen.result, "");
    EXPECT_FALSE(seen.is_cancel_requested);
    EXPECT_LT(seen.enqueued_ago, 1min);
    EXPECT_EQ(seen.due_in, 0s);
    EXPECT_FALSE(seen.ended_ago);
    EXPECT_EQ(info(enqueue()).max_attempts, retry_policy{}.max_attempts);
}

TEST_F(job_enqueue_suite, what_is_not_due_yet_is_scheduled) {
    const job_id later = enqueue(delayed(10min)), at_a_date = enqueue(at(24h));
    EXPECT_EQ(state(later), job_state::scheduled);
    EXPECT_GT(info(later).due_in, 9min);
    EXPECT_LE(info(later).due_in, 10min);
    EXPECT_EQ(state(at_a_date), job_state::scheduled);
    EXPECT_GT(info(at_a_date).due_in, 23h);
    EXPECT_TRUE(one_.claim(10).empty());
    const job_id past = enqueue(at(-24h));
    new_job ancient;
    ancient.run_at = schedule::instant{};
    const job_id oldest = enqueue(ancient);
    EXPECT_EQ(state(past), job_state::available);
    EXPECT_EQ(state(oldest), job_state::available);
    EXPECT_EQ(ids_of(one_.claim(10)), (std::vector{past, oldest}));
}

// ------------------------------------------------------------------------------ transactions

TEST_F(job_enqueue_suite, what_is_rolled_back_leaves_nothing) {
    transaction tx = first_.begin();
    const job_id id = try_enqueue_in(tx, unique("u")).id;
    tx.rollback();
    EXPECT_FALSE(find(id));
    EXPECT_TRUE(two_.claim(10).empty());
    EXPECT_FALSE(look().has_available);
    EXPECT_TRUE(try_enqueue(unique("u")).is_new);
}

TEST_F(job_enqueue_suite, what_is_not_committed_yet_is_nobodys) {
    transaction tx = first_.begin();
    const job_id id = try_enqueue_in(tx, {}).id;
    EXPECT_FALSE(find(id));
    EXPECT_FALSE(look().has_available);
    std::vector<claimed_job> beside;
    while_open([&] { beside = two_.claim(10); }, [&] { tx.commit(); });
    // With one writer a claim that looks before the commit finds nothing and is done; one that
    // looks later has it.
    if (current().has_concurrent_writers) {
        EXPECT_TRUE(beside.empty());
    }
    if (beside.empty()) beside = two_.claim(10);
    EXPECT_EQ(ids_of(beside), std::vector{id});
}

TEST_F(job_enqueue_suite, one_transaction_enqueues_again_and_again) {
    transaction tx = first_.begin();
    const enqueued_job first = try_enqueue_in(tx, unique("u"));
    const enqueued_job same = try_enqueue_in(tx, unique("u"));
    const enqueued_job other = try_enqueue_in(tx, {});
    tx.commit();
    EXPECT_EQ(same.id, first.id);
    EXPECT_FALSE(same.is_new);
    EXPECT_EQ(ids_of(one_.claim(10)), (std::vector{first.id, other.id}));
}

// ------------------------------------------------------------------------------- unique keys

TEST_F(job_enqueue_suite, of_one_unique_key_the_first_is_kept) {
    const job_id first = enqueue(unique("u"));
    new_job again = unique("u");
    again.payload = "other";
    const enqueued_job kept = try_enqueue(again);
    EXPECT_EQ(kept.id, first);
    EXPECT_FALSE(kept.is_new);
    EXPECT_EQ(info(first).payload, "");
    EXPECT_TRUE(try_enqueue(unique("U")).is_new);
    const auto elsewhere = with_stores(first_, [&](connection& on, store_set& stores) {
        return stores.get<job_store>().enqueue(on, fresh("elsewhere"), {unique("u")});
    });
    EXPECT_TRUE(elsewhere.at(0).is_new);
}

TEST_F(job_enqueue_suite, one_that_waits_is_replaced) {
    const job_id first = enqueue(unique("u"));
    new_job other = unique("u", on_conflict::replace);
    other.kind = "kind";
    other.payload = "payload";
    other.priority = 3;
    other.delay = 1h;
    const enqueued_job kept = try_enqueue(other);
    EXPECT_EQ(kept.id, first);
    EXPECT_FALSE(kept.is_new);
    job_info seen = info(first);
    EXPECT_EQ(seen.kind, "kind");
    EXPECT_EQ(seen.payload, "payload");
    EXPECT_EQ(seen.priority, 3);
    EXPECT_EQ(seen.state, job_state::scheduled);
    EXPECT_GT(seen.due_in, 50min);
    EXPECT_EQ(try_enqueue(unique("u", on_conflict::replace)).id, first);
    seen = info(first);
    EXPECT_EQ(seen.state, job_state::available) << "at once, as it was asked for";
    EXPECT_EQ(seen.payload, "");
}

TEST_F(job_enqueue_suite, one_that_runs_is_not_replaced) {
    const job_id first = enqueue(unique("u"));
    const claimed_job got = one_.claim_one();
    new_job other = unique("u", on_conflict::replace);
    other.payload = "payload";
    const enqueued_job refused = try_enqueue(other);
    EXPECT_EQ(refused.id, first);
    EXPECT_TRUE(refused.is_running);
    EXPECT_TRUE(try_enqueue(unique("u")).is_running) << "where it was to be kept";
    EXPECT_TRUE(enqueue_all({unique("v"), other})[1].is_running);
    transaction tx = first_.begin();
    EXPECT_TRUE(try_enqueue_in(tx, other).is_running);
    tx.commit();
    EXPECT_EQ(info(first).payload, "");
    EXPECT_EQ(state(first), job_state::running);
    EXPECT_TRUE(one_.complete(got));
    EXPECT_TRUE(try_enqueue(other).is_new);
}

// The new work owes nothing to the old: no back-off, no attempts, no error, limits of its own.
TEST_F(job_enqueue_suite, one_that_has_failed_is_replaced_and_begins_afresh) {
    const job_id first = enqueue(unique("u"));
    EXPECT_TRUE(one_.finish(end_of(one_.claim_one(), job_step::fail, 1h, "broken")));
    ASSERT_EQ(state(first), job_state::retryable);
    new_job other = unique("u", on_conflict::replace);
    other.payload = "payload";
    other.retry = {7, 11ms, 13ms};
    other.attempt_timeout = 17ms;
    other.unique = unique_until::started;
    const enqueued_job made = try_enqueue(other);
    EXPECT_EQ(made.id, first);
    EXPECT_FALSE(made.is_new);
    EXPECT_FALSE(made.is_running);
    const job_info seen = info(first);
    EXPECT_EQ(seen.state, job_state::available);
    EXPECT_EQ(seen.attempts, 0);
    EXPECT_EQ(seen.max_attempts, 7);
    EXPECT_EQ(seen.rescues, 0);
    EXPECT_EQ(seen.error, "");
    EXPECT_EQ(seen.payload, "payload");
    const claimed_job got = one_.claim_one();
    EXPECT_EQ(got.attempts, 1);
    EXPECT_EQ(got.retry.delay, 11ms);
    EXPECT_EQ(got.retry.max_delay, 13ms);
    EXPECT_EQ(got.attempt_timeout, std::optional{17ms});
    EXPECT_TRUE(try_enqueue(unique("u")).is_new) << "its key is free since it has started";
}

TEST_F(job_enqueue_suite, one_that_has_failed_is_replaced_by_one_for_later) {
    const job_id first = enqueue(unique("u"));
    EXPECT_TRUE(one_.fail(one_.claim_one()));
    new_job other = unique("u", on_conflict::replace);
    other.delay = 2h;
    EXPECT_EQ(try_enqueue(other).id, first);
    const job_info seen = info(first);
    EXPECT_EQ(seen.state, job_state::scheduled);
    EXPECT_GT(seen.due_in, 110min);
}

// The same job once more changes no value of its row but when it was enqueued.
TEST_F(job_enqueue_suite, what_is_replaced_by_the_same_is_replaced) {
    const new_job what = unique("u", on_conflict::replace);
    const job_id first = enqueue(what);
    for (int time = 0; time < 2; ++time) {
        const enqueued_job again = try_enqueue(what);
        EXPECT_EQ(again.id, first);
        EXPECT_FALSE(again.is_running);
    }
    transaction tx = first_.begin();
    EXPECT_FALSE(try_enqueue_in(tx, what).is_running);
    tx.commit();
    EXPECT_EQ(ids_of(one_.claim(10)), std::vector{first});
}

TEST_F(job_enqueue_suite, a_conflict_can_be_an_error) {
    const job_id first = enqueue(unique("u"));
    const auto thrown = thrown_by([&] { try_enqueue(unique("u", on_conflict::fail)); });
    ASSERT_TRUE(thrown);
    EXPECT_EQ(thrown->code(), errc::constraint);
    EXPECT_EQ(ids_of(one_.claim(10)), std::vector{first});
    EXPECT_TRUE(try_enqueue(unique("other", on_conflict::fail)).is_new);
}

TEST_F(job_enqueue_suite, two_of_one_unique_key_in_one_list_are_one) {
    new_job last = unique("u", on_conflict::replace);
    last.payload = "last";
    const auto made = enqueue_all({unique("u"), new_job{}, unique("u"), unique("v"), last});
    ASSERT_EQ(made.size(), 5U);
    EXPECT_EQ(made[2].id, made[0].id);
    EXPECT_EQ(made[4].id, made[0].id);
    const std::vector are_new{
        made[0].is_new, made[1].is_new, made[2].is_new, made[3].is_new, made[4].is_new};
    EXPECT_EQ(are_new, (std::vector{true, true, false, true, false}));
    EXPECT_EQ(info(made[0].id).payload, "last");
}

TEST_F(job_enqueue_suite, a_job_that_is_unique_until_it_ends_keeps_its_key_until_then) {
    for (const auto last : {job_step::complete, job_step::discard, job_step::cancel}) {
        const job_id id = enqueue(unique("u"));
        for (const auto step : {job_step::fail, job_step::snooze, job_step::release}) {
            EXPECT_FALSE(try_enqueue(unique("u")).is_new);
            const claimed_job got = one_.claim_one();
            EXPECT_FALSE(try_enqueue(unique("u")).is_new) << "it runs";
            EXPECT_TRUE(one_.finish(end_of(got, step, 1h, "")));
            EXPECT_FALSE(try_enqueue(unique("u")).is_new);
            if (step != job_step::release) make_due(id);
        }
        EXPECT_TRUE(one_.finish(end_of(one_.claim_one(), last)));
        const enqueued_job next = try_enqueue(unique("u"));
        EXPECT_TRUE(next.is_new);
        EXPECT_EQ(cancel(next.id), cancel_outcome::cancelled);
    }
    EXPECT_TRUE(try_enqueue(unique("u")).is_new) << "it was cancelled before it ran";
}

TEST_F(job_enqueue_suite, a_job_that_is_unique_until_it_starts_gives_its_key_away_then) {
    const job_id first = enqueue(until_started("u"));
    EXPECT_FALSE(try_enqueue(until_started("u")).is_new);
    const claimed_job got = one_.claim_one();
    ASSERT_EQ(got.id, first);
    EXPECT_TRUE(try_enqueue(until_started("u")).is_new);
    EXPECT_TRUE(one_.finish(end_of(got, job_step::release))) << "beside the one that came after";
    EXPECT_EQ(one_.claim(10).size(), 2U);
}

TEST_F(job_enqueue_suite, of_two_transactions_with_one_unique_key_the_second_waits) {
    for (const bool is_committed : {true, false}) {
        const std::string key = fresh("u");
        transaction tx = first_.begin();
        const job_id first = try_enqueue_in(tx, unique(key)).id;
        enqueued_job second;
        {
            const thread beside{[&] {
                second = with_stores(second_, [&](connection& on, store_set& stores) {
                    return stores.get<job_store>().enqueue(on, queue_, {unique(key)}).at(0);
                });
            }};
            is_committed ? tx.commit() : tx.rollback();
        }
        EXPECT_EQ(second.is_new, !is_committed);
        if (is_committed) {
            EXPECT_EQ(second.id, first);
        }
        EXPECT_EQ(ids_of(one_.claim(10)), std::vector{second.id});
    }
}

TEST_F(job_enqueue_suite, of_many_who_enqueue_one_unique_key_one_does) {
    constexpr int racers = 6, keys = 8;
    std::mutex guarding;
    std::map<std::string, std::multiset<job_id>> ids;
    std::map<std::string, int> made;
    {
        std::vector<thread> threads;
        for (int each = 0; each < racers; ++each) {
            threads.emplace_back([&] {
                const database own = open();
                for (int at = 0; at < keys; ++at) {
                    const std::string key = "u" + std::to_string(at);
                    const auto got = with_stores(own, [&](connection& on, store_set& stores) {
                        return stores.get<job_store>().enqueue(on, queue_, {unique(key)}).at(0);
                    });
                    const std::lock_guard guard{guarding};
                    ids[key].insert(got.id);
                    made[key] += got.is_new ? 1 : 0;
                }
            });
        }
    }
    for (const auto& [key, of_key] : ids) {
        EXPECT_EQ(made[key], 1) << key;
        EXPECT_EQ(of_key.count(*of_key.begin()), static_cast<std::size_t>(racers)) << key;
    }
    EXPECT_EQ(one_.claim(100).size(), static_cast<std::size_t>(keys));
}

}  // namespace
}  // namespace leasehold::testing
