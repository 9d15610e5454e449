// Claims of jobs: which worker gets which job, in what order, and the contents of a claim.
#include "conformance/job_suite.hpp"

namespace leasehold::testing {
namespace {

using job_claim_suite = job_suite;

TEST_F(job_claim_suite, no_more_are_claimed_than_asked_for_and_none_by_two) {
    const auto ids = enqueue_many(20);
    const auto first = one_.claim(7), second = two_.claim(100);
    EXPECT_EQ(ids_of(first), std::vector(ids.begin(), ids.begin() + 7));
    EXPECT_EQ(ids_of(second), std::vector(ids.begin() + 7, ids.end()));
    EXPECT_TRUE(one_.claim(10).empty());
    EXPECT_TRUE(two_.claim(10).empty());
}

TEST_F(job_claim_suite, the_smallest_priority_goes_first_and_then_the_smallest_id) {
    std::vector<job_id> ids;
    for (const int priority : {5, 0, -3, 32'767, 0, -32'768, 5}) {
        new_job what;
        what.priority = priority;
        ids.push_back(enqueue(what));
    }
    const std::vector<job_id> expected{ids[5], ids[2], ids[1], ids[4], ids[0], ids[6], ids[3]};
    EXPECT_EQ(ids_of(one_.claim(3)), std::vector(expected.begin(), expected.begin() + 3));
    EXPECT_EQ(ids_of(one_.claim(10)), std::vector(expected.begin() + 3, expected.end()));
}

// By the database's clock: neither the time before it was due nor that of an earlier attempt.
TEST_F(job_claim_suite, a_claim_says_how_long_the_job_has_waited_for_it) {
    const job_id id = enqueue();
    current().age_job(id, 1h);
    const auto waited = [&](std::chrono::microseconds least) {
        const auto job = one_.claim_one();
        EXPECT_EQ(job.id, id);
        EXPECT_GE(job.waited.value(), least);
        EXPECT_LT(job.waited.value(), least + 10min);
        return job;
    };
    auto job = waited(1h);
    EXPECT_TRUE(one_.fail(job, 1h));
    current().age_job(id, 3h);
    EXPECT_EQ(promote(), 1);
    job = waited(2h);
    current().age_job(id, 1h);
    EXPECT_TRUE(one_.finish(end_of(job, job_step::release)));
    job = waited(0h);
    EXPECT_TRUE(one_.finish(end_of(job, job_step::snooze, 1h)));
    current().age_job(id, 1h + 30min);
    EXPECT_EQ(promote(), 1);
    job = waited(30min);
    EXPECT_TRUE(one_.finish(end_of(job, job_step::discard)));
    current().age_job(id, 1h);
    EXPECT_EQ(retry_job(first_, id), retry_outcome::redriven);
    current().age_job(id, 20min);
    EXPECT_EQ(job_queue(first_, queue_).describe().oldest_available.value() / 10min, 2);
    waited(20min);
}

TEST_F(job_claim_suite, jobs_of_other_kinds_are_left_alone) {
    new_job what;
    what.kind = "other";
    enqueue_many(200, what);
    what.kind = "mine";
    const auto mine = enqueue_many(3, what);
    what.kind = "";
    const auto unnamed = enqueue_many(2, what);
    EXPECT_TRUE(one_.claim(10, {"unknown", "min", "mine "}).empty());
    EXPECT_EQ(ids_of(one_.claim(2, {"x", "mine"})), std::vector(mine.begin(), mine.begin() + 2));
    EXPECT_EQ(ids_of(one_.claim(10, {""})), unnamed);
    EXPECT_EQ(ids_of(one_.claim(10, {"mine", "\"quoted\",{}"})), std::vector{mine[2]});
    EXPECT_EQ(one_.claim(1000).size(), 200U) << "of any kind";
}

TEST_F(job_claim_suite, jobs_of_several_kinds_come_in_one_order) {
    for (const char* const ordering_key : {"", "k"}) {
        std::vector<job_id> expected;
        for (const int priority : {0, 1}) {
            for (const char* const kind : {"a", "b", "nobody", "a", "b"}) {
                new_job what;
                what.kind = kind;
                what.priority = priority;
                if (*ordering_key) what.ordering_key = fresh(ordering_key);
                const job_id made = enqueue(what);
                if (what.kind != "nobody") expected.push_back(made);
            }
        }
        for (const int count : {3, 1, 4}) {
            const std::vector next(expected.begin(), expected.begin() + count);
            EXPECT_EQ(ids_of(one_.claim(count, {"b", "none", "a"})), next) << ordering_key;
            expected.erase(expected.begin(), expected.begin() + count);
        }
        EXPECT_TRUE(one_.claim(10, {"b", "none", "a"}).empty());
    }
}

// A worker that claims very many jobs may begin where it found the first one the last time.
TEST_F(job_claim_suite, who_has_claimed_very_many_finds_what_is_urgent_and_what_comes_back) {
    constexpr int rounds = 12, in_a_round = 1'000;
    std::vector<claimed_job> old;
    std::vector<job_end> ends;
    for (int round = 0; round < rounds; ++round) {
        enqueue_many(in_a_round);
        const auto got = one_.finish_and_claim(std::exchange(ends, {}), in_a_round).claimed.jobs;
        ASSERT_EQ(std::ssize(got), in_a_round);
        for (const claimed_job& each : got) {
            if (old.size() < 2) {
                old.push_back(each);
            } else {
                ends.push_back(end_of(each, job_step::complete));
            }
        }
    }
    one_.finish_all(ends);
    enqueue_many(100);
    EXPECT_EQ(one_.claim(10).size(), 10U);
    new_job what;
    what.priority = -1;
    const job_id urgent = enqueue(what);
    EXPECT_EQ(one_.claim_one().id, urgent);
    ASSERT_TRUE(one_.finish(end_of(old[0], job_step::release)));
    const auto deadline = std::chrono::steady_clock::now() + 20s;
    for (bool is_found = false; !is_found;) {
        ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "others always go first";
        enqueue();
        const claimed_job got = one_.claim_one();
        is_found = got.id == old[0].id;
        EXPECT_TRUE(one_.complete(got));
    }
    ASSERT_TRUE(one_.finish(end_of(old[1], job_step::release)));
    const auto rest = ids_of(one_.claim(in_a_round));
    EXPECT_EQ(std::ranges::count(rest, old[1].id), 1) << "fewer than were wanted are all there are";
    EXPECT_EQ(std::set(rest.begin(), rest.end()).size(), rest.size());
    EXPECT_TRUE(one_.claim(1).empty());
}

TEST_F(job_claim_suite, jobs_of_other_queues_are_left_alone) {
    const worker elsewhere{second_, fresh("elsewhere")};
    const job_id id = enqueue();
    EXPECT_TRUE(elsewhere.claim(10).empty());
    EXPECT_EQ(one_.claim_one().id, id);
}

TEST_F(job_claim_suite, a_claim_says_all_of_its_job) {
    new_job what;
    what.kind = "k'ind \"{,}\\ \xC3\xA9";
    what.payload = "{\"a\": [1, null, \"\\n\"]}\n'; -- \xE2\x82\xAC";
    what.ordering_key = "key {1,2} \"NULL\"";
    what.retry = {7, 1'500ms, 90s};
    what.attempt_timeout = 250ms;
    const job_id id = enqueue(what);
    const claimed_job got = one_.claim_one();
    EXPECT_EQ(got.id, id);
    EXPECT_EQ(got.token.number, 1);
    EXPECT_EQ(got.kind, what.kind);
    EXPECT_EQ(got.payload, what.payload);
    EXPECT_EQ(got.attempts, 1);
    EXPECT_EQ(got.rescues, 0);
    EXPECT_EQ(got.ordering_key, what.ordering_key);
    EXPECT_EQ(got.retry.max_attempts, 7);
    EXPECT_EQ(got.retry.delay, 1'500ms);
    EXPECT_EQ(got.retry.max_delay, 90s);
    EXPECT_EQ(got.attempt_timeout, 250ms);
}

TEST_F(job_claim_suite, what_was_left_at_its_default_is_claimed_so) {
    enqueue();
    const claimed_job got = one_.claim_one();
    const new_job plain;
    EXPECT_EQ(got.kind, "");
    EXPECT_EQ(got.payload, "");
    EXPECT_EQ(got.ordering_key, "");
    EXPECT_EQ(got.retry.max_attempts, plain.retry.max_attempts);
    EXPECT_EQ(got.retry.delay, plain.retry.delay);
    EXPECT_EQ(got.retry.max_delay, plain.retry.max_delay);
    EXPECT_FALSE(got.attempt_timeout);
}

TEST_F(job_claim_suite, a_large_payload_comes_whole) {
    new_job what;
    for (int each = 0; what.payload.size() < 300'000; ++each) {
        what.payload += std::to_string(each) + ",\\ \"'";
    }
    enqueue(what);
    EXPECT_EQ(one_.claim_one().payload, what.payload);
}

TEST_F(job_claim_suite, a_running_job_is_shown_with_who_has_it) {
    const job_id id = enqueue();
    EXPECT_FALSE(info(id).running_for);
    const claimed_job got = one_.claim_one();
    current().age_job(id, 1h);
    const job_info seen = info(id);
    EXPECT_EQ(seen.state, job_state::running);
    EXPECT_EQ(seen.token, got.token);
    EXPECT_EQ(seen.attempts, 1);
    EXPECT_EQ(seen.node_info, "worker@here");
    EXPECT_GE(seen.running_for.value(), 1h);
    EXPECT_LT(seen.running_for.value(), 2h);
}

TEST_F(job_claim_suite, each_claim_of_a_job_has_a_greater_token) {
    const job_id id = enqueue();
    std::int64_t last = 0;
    for (const auto step : {job_step::release, job_step::snooze, job_step::fail, job_step::fail}) {
        for (const worker* each : {&one_, &two_}) {
            const claimed_job got = each->claim_one();
            EXPECT_EQ(got.id, id);
            EXPECT_GT(got.token.number, last);
            last = got.token.number;
            ASSERT_TRUE(each->finish(end_of(got, step, 0s, "")));
            if (step == job_step::fail) make_due(id);
        }
    }
    EXPECT_EQ(info(id).token.number, last);
}

TEST_F(job_claim_suite, a_session_that_is_not_live_claims_nothing) {
    const job_id id = enqueue();
    expire(one_.mine);
    current().remove_session_row(two_.mine.id());
    for (const worker* each : {&one_, &two_}) {
        const claim_result got = each->try_claim(10);
        EXPECT_TRUE(got.session_has_ended);
        EXPECT_TRUE(got.jobs.empty());
    }
    EXPECT_EQ(state(id), job_state::available);
    EXPECT_EQ(info(id).token.number, 0);
}

// It is told in queues that are claimed in turn, too, and where there is nothing to claim.
TEST_F(job_claim_suite, a_session_learns_of_its_end_by_any_claim) {
    EXPECT_TRUE(one_.claim(1).empty());
    expire(one_.mine);
    EXPECT_TRUE(one_.try_claim(1).session_has_ended);
    queue_limits limits;
    limits.max_running = 3;
    set_limits(limits);
    expire(two_.mine);
    EXPECT_TRUE(two_.try_claim(1).session_has_ended);
    const job_id id = enqueue(keyed("k"));
    EXPECT_TRUE(two_.try_claim(1).session_has_ended);
    EXPECT_EQ(state(id), job_state::available);
}

TEST_F(job_claim_suite, what_somebody_has_locked_is_passed_by) {
    const job_id first = enqueue(unique("u")), second = enqueue();
    transaction tx = first_.begin();
    new_job other = unique("u", on_conflict::replace);
    other.kind = "other";
    EXPECT_EQ(try_enqueue_in(tx, other).id, first);
    std::vector<claimed_job> got;
    while_open([&] { got = two_.claim(1); }, [&] { tx.commit(); });
    ASSERT_EQ(got.size(), 1U);
    if (current().has_concurrent_writers) {
        EXPECT_EQ(got[0].id, second);
    } else {
        EXPECT_EQ(got[0].id, first);
    }
    EXPECT_EQ(one_.claim(10).size(), 1U);
}

TEST_F(job_claim_suite, of_many_claimers_each_job_has_one) {
    constexpr int jobs = 120, claimers = 6;
    const auto ids = enqueue_many(jobs);
    std::mutex guarding;
    std::multiset<job_id> got;
    {
        std::vector<thread> threads;
        for (int each = 0; each < claimers; ++each) {
            threads.emplace_back([&, each] {
                const worker mine{open(), queue_};
                // A job passed by is somebody's: a worker that finds none has nothing left to do.
                for (;;) {
                    const auto claimed = mine.claim(1 + each);
                    if (claimed.empty()) return;
                    const std::lock_guard guard{guarding};
                    for (const claimed_job& job : claimed) got.insert(job.id);
                }
            });
        }
    }
    for (const job_id each : ids_of(one_.claim(jobs))) got.insert(each);
    EXPECT_EQ(std::vector(got.begin(), got.end()), ids);
}

// ------------------------------------------------------------------------ claims one has

TEST_F(job_claim_suite, who_lost_the_answer_finds_what_he_claimed) {
    new_job what;
    what.kind = "kind";
    what.payload = "payload";
    what.retry.max_attempts = 4;
    enqueue_many(5, what);
    const auto mine = one_.claim(2), theirs = two_.claim(2);
    const auto found_by = [&](const worker& who, const std::string& queue) {
        return with_stores(who.db, [&](connection& on, store_set& stores) {
            return stores.get<job_store>().find_claims(on, queue, who.mine.id());
        });
    };
    const auto found = found_by(one_, queue_);
    ASSERT_EQ(ids_of(found), ids_of(mine));
    EXPECT_EQ(found[1].token, mine[1].token);
    EXPECT_EQ(found[1].kind, "kind");
    EXPECT_EQ(found[1].payload, "payload");
    EXPECT_EQ(found[1].attempts, 1);
    EXPECT_EQ(found[1].retry.max_attempts, 4);
    EXPECT_EQ(ids_of(found_by(two_, queue_)), ids_of(theirs));
    EXPECT_TRUE(found_by(one_, fresh("elsewhere")).empty());
    EXPECT_TRUE(one_.complete(mine[0]));
    EXPECT_EQ(ids_of(found_by(one_, queue_)), std::vector{mine[1].id});
}

TEST_F(job_claim_suite, standings_say_of_each_claim_whether_it_is_held) {
    enqueue_many(4);
    const auto mine = one_.claim(3);
    const claimed_job theirs = two_.claim_one();
    EXPECT_EQ(cancel(mine[1].id), cancel_outcome::requested);
    EXPECT_TRUE(one_.complete(mine[2]));
    const std::vector<job_claim> asked{
        {mine[0].id, mine[0].token},
        {mine[1].id, mine[1].token},
        {mine[2].id, mine[2].token},
        {mine[0].id, {mine[0].token.number + 1}},
        {theirs.id, theirs.token},
        {mine[0].id + 1'000'000, {1}},
        {mine[0].id, mine[0].token}};
    using enum claim_standing;
    const std::vector expected{held, cancel_requested, gone, gone, gone, gone, held};
    EXPECT_EQ(one_.standings(asked), expected);
    EXPECT_TRUE(one_.standings({}).empty());
}

TEST_F(job_claim_suite, progress_is_noted_by_who_has_the_job_alone) {
    const auto note = [&](const worker& who, const claimed_job& job, const std::string& words) {
        return with_stores(who.db, [&](connection& on, store_set& stores) {
            return stores.get<job_store>().note_progress(
                on, who.mine.id(), job.id, job.token, words
            );
        });
    };
    const job_id id = enqueue();
    const claimed_job got = one_.claim_one();
    EXPECT_TRUE(note(one_, got, "half"));
    EXPECT_TRUE(note(one_, got, "half")) << "the same once more";
    EXPECT_EQ(info(id).progress, "half");
    EXPECT_FALSE(note(two_, got, "theirs"));
    claimed_job other = got;
    other.token.number += 1;
    EXPECT_FALSE(note(one_, other, "later"));
    EXPECT_EQ(info(id).progress, "half");
    EXPECT_TRUE(one_.finish(end_of(got, job_step::release)));
    EXPECT_FALSE(note(one_, got, "late"));
    const claimed_job again = one_.claim_one();
    EXPECT_FALSE(note(one_, got, "late"));
    EXPECT_EQ(info(id).progress, "") << "a new attempt begins without";
    EXPECT_TRUE(one_.complete(again));
}

}  // namespace
}  // namespace leasehold::testing
