// The ends of a running job; only its claim decides them.
#include "conformance/job_suite.hpp"

namespace leasehold::testing {
namespace {

using job_end_suite = job_suite;

TEST_F(job_end_suite, a_completed_job_of_which_nothing_is_kept_leaves_no_row) {
    const job_id id = enqueue();
    EXPECT_TRUE(one_.complete(one_.claim_one()));
    EXPECT_FALSE(find(id));
    EXPECT_TRUE(one_.claim(1).empty());
}

TEST_F(job_end_suite, a_result_is_kept_where_completed_jobs_are_not) {
    const job_id id = enqueue();
    EXPECT_TRUE(one_.finish(end_of(one_.claim_one(), job_step::complete, 0s, "42")));
    const job_info seen = info(id);
    EXPECT_EQ(seen.state, job_state::completed);
    EXPECT_EQ(seen.result, "42");
    EXPECT_EQ(seen.error, "");
    EXPECT_EQ(seen.attempts, 1);
    EXPECT_TRUE(seen.ended_ago);
    EXPECT_FALSE(seen.running_for);
}

TEST_F(job_end_suite, an_ended_job_is_kept_as_it_was) {
    one_.kept.completed = 1h;
    new_job what;
    what.kind = "kind";
    what.payload = "payload";
    what.priority = -7;
    what.unique_key = "unique";
    what.ordering_key = "ordering";
    what.retry.max_attempts = 9;
    const job_id id = enqueue(what);
    const claimed_job got = one_.claim_one();
    EXPECT_TRUE(one_.complete(got));
    const job_info seen = info(id);
    EXPECT_EQ(seen.state, job_state::completed);
    EXPECT_EQ(seen.queue, queue_);
    EXPECT_EQ(seen.kind, "kind");
    EXPECT_EQ(seen.payload, "payload");
    EXPECT_EQ(seen.priority, -7);
    EXPECT_EQ(seen.unique_key, "unique");
    EXPECT_EQ(seen.ordering_key, "ordering");
    EXPECT_EQ(seen.max_attempts, 9);
    EXPECT_EQ(seen.token, got.token);
    EXPECT_EQ(seen.node_info, "worker@here");
    EXPECT_EQ(seen.result, "");
    current().age_job(id, 30min);
    EXPECT_GE(info(id).ended_ago.value(), 30min);
}

TEST_F(job_end_suite, a_failed_attempt_is_tried_again_later) {
    const job_id id = enqueue();
    const claimed_job first = one_.claim_one();
    EXPECT_TRUE(one_.finish(end_of(first, job_step::fail, 1h, "no disk")));
    const job_info seen = info(id);
    EXPECT_EQ(seen.state, job_state::retryable);
    EXPECT_EQ(seen.attempts, 1);
    EXPECT_EQ(seen.error, "no disk");
    EXPECT_GT(seen.due_in, 50min);
    EXPECT_LE(seen.due_in, 1h);
    EXPECT_TRUE(one_.claim(1).empty());
    make_due(id);
    const claimed_job second = two_.claim_one();
    EXPECT_EQ(second.id, id);
    EXPECT_EQ(second.attempts, 2);
    EXPECT_EQ(info(id).error, "no disk") << "of the last attempt that failed";
}

TEST_F(job_end_suite, the_last_twenty_failures_of_a_job_are_kept_through_its_end) {
    constexpr int attempts = 23;
    new_job what;
    what.retry.max_attempts = attempts;
    const job_id id = enqueue(what);
    EXPECT_TRUE(info(id).failures.empty());
    std::string long_words;
    while (long_words.size() < 3'900) long_words += "\xC3\xA4";
    for (int number = 1; number <= attempts; ++number) {
        const claimed_job mine = one_.claim_one();
        const std::string words = number == 5 ? long_words : "no disk " + std::to_string(number);
        EXPECT_TRUE(one_.finish(end_of(mine, job_step::fail, 1h, words + "\nline 2")));
        if (number < attempts) make_due(id);
        ASSERT_EQ(std::ssize(info(id).failures), std::min(number, 20));
    }
    current().age_job(id, 30min);
    const job_info ended = info(id);
    EXPECT_EQ(ended.state, job_state::discarded);
    for (int place = 0; place < 20; ++place) {
        const job_failure& each = ended.failures.at(static_cast<std::size_t>(place));
        EXPECT_EQ(each.attempt, attempts - 19 + place);
        EXPECT_EQ(each.node_info, "worker@here");
        EXPECT_GE(each.began_ago, each.ended_ago);
    }
    EXPECT_EQ(
        ended.failures.at(1).error,
        long_words.substr(0, 400) + "\n...\n" + long_words.substr(0, 2 * (795 - 7)) + "\nline 2"
    );
    EXPECT_EQ(ended.failures.back().error, "no disk 23\nline 2");
    EXPECT_EQ(retry_job(one_.db, id), retry_outcome::redriven);
    EXPECT_EQ(info(id).failures.size(), 20U) << "why it was discarded";
    EXPECT_TRUE(one_.complete(one_.claim_one()));
    what.unique_key = "k";
    what.conflict = on_conflict::replace;
    const job_id second = enqueue(what);
    EXPECT_TRUE(one_.finish(end_of(one_.claim_one(), job_step::fail, 1h, "no disk")));
    EXPECT_EQ(info(second).failures.size(), 1U);
    EXPECT_EQ(try_enqueue(what).id, second);
    EXPECT_TRUE(info(second).failures.empty()) << "it is another job now";
}

TEST_F(job_end_suite, an_attempt_that_has_not_failed_is_no_failure) {
    const job_id id = enqueue();
    EXPECT_TRUE(one_.finish(end_of(one_.claim_one(), job_step::release)));
    EXPECT_TRUE(one_.finish(end_of(one_.claim_one(), job_step::snooze, 1h)));
    make_due(id);
    EXPECT_TRUE(one_.finish(end_of(one_.claim_one(), job_step::complete, 0h, "result")));
    EXPECT_TRUE(info(id).failures.empty());
}

TEST_F(job_end_suite, the_last_attempt_that_fails_discards) {
    new_job what;
    what.retry.max_attempts = 2;
    const job_id id = enqueue(what);
    EXPECT_TRUE(one_.fail(one_.claim_one()));
    make_due(id);
    EXPECT_TRUE(one_.finish(end_of(one_.claim_one(), job_step::fail, 1h, "again")));
    const job_info seen = info(id);
    EXPECT_EQ(seen.state, job_state::discarded);
    EXPECT_EQ(seen.attempts, 2);
    EXPECT_EQ(seen.error, "again");
    EXPECT_EQ(promote(), 0);
}

TEST_F(job_end_suite, a_snooze_and_a_release_count_no_attempt) {
    new_job what;
    what.retry.max_attempts = 1;
    const job_id id = enqueue(what);
    EXPECT_TRUE(one_.finish(end_of(one_.claim_one(), job_step::release, 1h, "ignored")));
    EXPECT_EQ(state(id), job_state::available);
    EXPECT_TRUE(one_.finish(end_of(one_.claim_one(), job_step::snooze)));
    EXPECT_EQ(state(id), job_state::available) << "by no time";
    EXPECT_TRUE(one_.finish(end_of(one_.claim_one(), job_step::snooze, 1h)));
    const job_info seen = info(id);
    EXPECT_EQ(seen.state, job_state::scheduled);
    EXPECT_GT(seen.due_in, 50min);
    EXPECT_EQ(seen.attempts, 0);
    EXPECT_EQ(seen.error, "");
    EXPECT_EQ(seen.token.number, 3);
    make_due(id);
    EXPECT_EQ(one_.claim_one().attempts, 1);
}

TEST_F(job_end_suite, a_handler_can_give_up) {
    const auto ids = enqueue_many(2);
    const auto got = one_.claim(2);
    const std::vector ends{
        end_of(got[0], job_step::discard, 0s, "no such customer"),
        end_of(got[1], job_step::cancel, 0s, "stopped")};
    EXPECT_EQ(one_.finish_all(ends), (std::vector{true, true}));
    EXPECT_EQ(state(ids[0]), job_state::discarded);
    EXPECT_EQ(info(ids[0]).error, "no such customer");
    EXPECT_EQ(info(ids[0]).attempts, 1);
    EXPECT_EQ(state(ids[1]), job_state::cancelled);
    EXPECT_EQ(info(ids[1]).error, "stopped");
}

TEST_F(job_end_suite, nothing_is_kept_for_no_time) {
    one_.kept = {};
    const auto ids = enqueue_many(3);
    const auto got = one_.claim(3);
    const std::vector ends{
        end_of(got[0], job_step::discard, 0s, "words"),
        end_of(got[1], job_step::cancel, 0s, "words"),
        end_of(got[2], job_step::complete)};
    EXPECT_EQ(one_.finish_all(ends), (std::vector{true, true, true}));
    for (const job_id each : ids) EXPECT_FALSE(find(each));
}

TEST_F(job_end_suite, words_may_be_as_long_as_they_may) {
    const std::string words(job_store::max_words_bytes, 'w');
    const auto ids = enqueue_many(2);
    const auto got = one_.claim(2);
    EXPECT_TRUE(one_.finish(end_of(got[0], job_step::complete, 0s, words)));
    EXPECT_TRUE(one_.finish(end_of(got[1], job_step::fail, 1h, words)));
    EXPECT_EQ(info(ids[0]).result, words);
    EXPECT_EQ(info(ids[1]).error, words);
}

TEST_F(job_end_suite, a_job_that_is_to_be_cancelled_is_unless_it_completes) {
    const std::vector steps{
        job_step::fail, job_step::snooze, job_step::release, job_step::discard, job_step::cancel};
    for (const job_step each : steps) {
        const job_id id = enqueue();
        const claimed_job got = one_.claim_one();
        EXPECT_EQ(cancel(id), cancel_outcome::requested);
        EXPECT_TRUE(info(id).is_cancel_requested);
        EXPECT_TRUE(one_.finish(end_of(got, each, 1h, "words")));
        EXPECT_EQ(state(id), job_state::cancelled) << static_cast<int>(each);
    }
    const job_id id = enqueue();
    const claimed_job got = one_.claim_one();
    EXPECT_EQ(cancel(id), cancel_outcome::requested);
    EXPECT_TRUE(one_.finish(end_of(got, job_step::complete, 0s, "done")));
    EXPECT_EQ(state(id), job_state::completed);
}

// ---------------------------------------------------------------------------- whose it is

TEST_F(job_end_suite, a_late_end_of_an_earlier_claim_of_the_same_session_changes_nothing) {
    const job_id id = enqueue();
    const claimed_job first = one_.claim_one();
    expire(one_.mine);
    EXPECT_EQ(rescue().rescued, 1);
    revive(one_.mine);
    const claimed_job second = one_.claim_one();
    ASSERT_EQ(second.id, id);
    EXPECT_FALSE(one_.complete(first));
    EXPECT_FALSE(one_.finish(end_of(first, job_step::fail, 1h, "late")));
    EXPECT_EQ(one_.standing(first), claim_standing::gone);
    EXPECT_EQ(state(id), job_state::running);
    EXPECT_EQ(info(id).error, "");
    EXPECT_TRUE(one_.complete(second));
    EXPECT_FALSE(one_.complete(second));
}

// The token is still the job's own: nobody has claimed it since.
TEST_F(job_end_suite, a_late_end_while_the_job_is_available_changes_nothing) {
    const job_id id = enqueue();
    const claimed_job got = one_.claim_one();
    EXPECT_TRUE(one_.finish(end_of(got, job_step::release)));
    ASSERT_EQ(info(id).token, got.token);
    for (const auto step : {job_step::complete, job_step::fail, job_step::cancel}) {
        EXPECT_FALSE(one_.finish(end_of(got, step, 0s, "late")));
    }
    EXPECT_FALSE(one_.complete(got));
    EXPECT_EQ(state(id), job_state::available);
}

TEST_F(job_end_suite, neither_the_token_nor_the_session_alone_ends_a_job) {
    const job_id id = enqueue();
    const claimed_job got = one_.claim_one();
    claimed_job guessed = got;
    for (const int wrong : {-1, 1}) {
        guessed.token.number = got.token.number + wrong;
        EXPECT_FALSE(one_.complete(guessed));
        EXPECT_FALSE(one_.fail(guessed));
    }
    EXPECT_FALSE(two_.complete(got));
    EXPECT_FALSE(two_.fail(got));
    EXPECT_EQ(state(id), job_state::running);
    EXPECT_TRUE(one_.complete(got));
}

TEST_F(job_end_suite, each_of_many_ends_is_answered_in_its_place) {
    enqueue_many(4);
    new_job ordered = keyed("k");
    ordered.priority = 1;
    enqueue(ordered);
    std::vector<claimed_job> mine = one_.claim(3);
    const claimed_job theirs = two_.claim_one(), last = one_.claim_one();
    ASSERT_EQ(last.ordering_key, "k");
    EXPECT_TRUE(one_.finish(end_of(mine[1], job_step::release)));
    const std::vector ends{
        end_of(theirs, job_step::complete),
        end_of(mine[2], job_step::complete),
        end_of(mine[1], job_step::complete),
        end_of(last, job_step::complete),
        end_of(mine[0], job_step::complete)};
    EXPECT_EQ(one_.finish_all(ends), (std::vector{false, true, false, true, true}));
    EXPECT_TRUE(one_.finish_all({}).empty());
}

TEST_F(job_end_suite, a_thousand_end_at_once) {
    const int all = job_store::max_jobs_per_statement;
    enqueue_many(all);
    std::vector<job_end> ends;
    for (const claimed_job& each : one_.claim(all)) {
        ends.push_back(end_of(each, each.id % 2 ? job_step::complete : job_step::fail, 1h, "x"));
    }
    ASSERT_EQ(std::ssize(ends), all);
    EXPECT_EQ(one_.finish_all(ends), std::vector<bool>(static_cast<std::size_t>(all), true));
}

TEST_F(job_end_suite, an_end_in_a_transaction_is_the_transactions) {
    const job_id id = enqueue();
    const claimed_job got = one_.claim_one();
    for (const bool is_committed : {false, true}) {
        transaction tx = first_.begin();
        EXPECT_EQ(one_.finish_all_in(tx, {end_of(got, job_step::complete)}), std::vector{true});
        EXPECT_EQ(state(id), job_state::running) << "to others";
        if (is_committed) {
            tx.commit();
        } else {
            tx.rollback();
        }
        EXPECT_EQ(find(id).has_value(), !is_committed);
    }
    EXPECT_FALSE(one_.complete(got));
}

TEST_F(job_end_suite, of_two_ends_at_once_one_counts) {
    for (const bool is_committed : {true, false}) {
        enqueue();
        const claimed_job got = one_.claim_one();
        transaction tx = first_.begin();
        EXPECT_EQ(one_.finish_all_in(tx, {end_of(got, job_step::complete)}), std::vector{true});
        bool has_failed = false;
        {
            const thread beside{[&] { has_failed = one_.fail(got); }};
            is_committed ? tx.commit() : tx.rollback();
        }
        EXPECT_EQ(has_failed, !is_committed);
    }
}

// ------------------------------------------------------------------------- what it says

TEST_F(job_end_suite, an_end_says_what_has_become_of_its_job) {
    using enum job_state;
    new_job once;
    once.retry.max_attempts = 1;
    enqueue_many(5);
    enqueue_many(2, keyed("k"));
    enqueue(once);
    auto got = one_.claim(8);
    ASSERT_EQ(got.size(), 7U) << "one of the key waits";
    got.push_back(got.front());
    got.back().token.number += 1;
    for (const bool are_kept : {false, true}) {
        if (are_kept) {
            enqueue_many(7);
            got = one_.claim(7);
            one_.kept.completed = 1h;
        }
        const std::vector all{
            end_of(got[0], job_step::complete),
            end_of(got[1], job_step::fail, 1h, "failed"),
            end_of(got[2], job_step::snooze, 1h),
            end_of(got[3], job_step::release),
            end_of(got[4], job_step::discard),
            end_of(got[5], job_step::cancel)};
        EXPECT_EQ(
            one_.states_after(all),
            (job_store::end_states{completed, retryable, scheduled, available, discarded, cancelled}
            )
        );
        EXPECT_EQ(one_.states_after(all), job_store::end_states(6)) << "they have ended";
        if (are_kept) continue;
        const std::vector rest{
            end_of(got[6], job_step::fail, 1h, "failed"), end_of(got[7], job_step::complete)};
        EXPECT_EQ(one_.states_after(rest), (job_store::end_states{discarded, std::nullopt}));
        one_.finish(end_of(one_.claim(1).at(0), job_step::complete));
        one_.finish(end_of(one_.claim(1).at(0), job_step::complete));
    }
}

TEST_F(job_end_suite, an_end_of_a_job_that_was_to_be_cancelled_says_so) {
    using enum job_state;
    enqueue_many(3);
    const auto got = one_.claim(3);
    for (const claimed_job& each : got) {
        ASSERT_EQ(cancel_job(first_, each.id), cancel_outcome::requested);
    }
    EXPECT_EQ(
        one_.states_after(
            {end_of(got[0], job_step::fail, 1h, "failed"),
             end_of(got[1], job_step::release),
             end_of(got[2], job_step::complete)}
        ),
        (job_store::end_states{cancelled, cancelled, completed})
    );
}

// ------------------------------------------------------------------------- and then claim

TEST_F(job_end_suite, who_ends_jobs_claims_the_next) {
    const auto ids = enqueue_many(5);
    auto both = one_.finish_and_claim({}, 2);
    EXPECT_TRUE(both.finished.empty());
    ASSERT_EQ(ids_of(both.claimed.jobs), (std::vector{ids[0], ids[1]}));
    const claimed_job stale = both.claimed.jobs[0];
    EXPECT_TRUE(one_.complete(stale));
    const std::vector ends{
        end_of(stale, job_step::complete), end_of(both.claimed.jobs[1], job_step::complete)};
    both = one_.finish_and_claim(ends, 2);
    EXPECT_EQ(stood(both.finished), (std::vector{false, true}));
    ASSERT_EQ(ids_of(both.claimed.jobs), (std::vector{ids[2], ids[3]}));
    EXPECT_FALSE(find(ids[1]));
    const std::vector mixed{
        end_of(both.claimed.jobs[0], job_step::complete, 0s, "result"),
        end_of(both.claimed.jobs[1], job_step::fail, 1h, "error")};
    both = one_.finish_and_claim(mixed, 10);
    EXPECT_EQ(stood(both.finished), (std::vector{true, true}));
    EXPECT_EQ(ids_of(both.claimed.jobs), std::vector{ids[4]});
    EXPECT_EQ(info(ids[2]).result, "result");
    EXPECT_EQ(state(ids[3]), job_state::retryable);
}

TEST_F(job_end_suite, who_ends_a_job_of_a_key_claims_the_next_of_it) {
    const auto ids = enqueue_many(3, keyed("k"));
    auto both = two_.finish_and_claim({}, 3);
    for (const job_id each : ids) {
        ASSERT_EQ(ids_of(both.claimed.jobs), std::vector{each});
        both = two_.finish_and_claim({end_of(both.claimed.jobs[0], job_step::complete)}, 3);
        EXPECT_EQ(stood(both.finished), std::vector{true});
    }
    EXPECT_TRUE(both.claimed.jobs.empty());
}

TEST_F(job_end_suite, who_ends_jobs_without_a_live_session_claims_none) {
    enqueue_many(2);
    const claimed_job got = one_.claim_one();
    expire(one_.mine);
    const auto both = one_.finish_and_claim({end_of(got, job_step::complete)}, 1);
    EXPECT_EQ(stood(both.finished), std::vector{true}) << "nobody has taken it yet";
    EXPECT_TRUE(both.claimed.session_has_ended);
    EXPECT_TRUE(both.claimed.jobs.empty());
}

}  // namespace
}  // namespace leasehold::testing
