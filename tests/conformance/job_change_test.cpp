// A job that waits is changed: what it is about, how soon it is done. One that runs stays.
#include "conformance/job_suite.hpp"

namespace leasehold::testing {
namespace {

class job_change_suite : public job_suite {
protected:
    job_change_outcome change(job_id id, const job_changes& what) const {
        return change_job(second_, id, what);
    }
    static void age(job_id id, std::chrono::microseconds by) { current().age_job(id, by); }
    errc refused(const job_changes& what) const {
        try {
            change_job(first_, 1, what);
        } catch (const error& failure) {
            return failure.code();
        }
        return errc::busy;
    }
};

TEST_F(job_change_suite, what_is_given_changes_and_the_rest_stays) {
    new_job what{.kind = "letter", .payload = "old", .priority = 3, .unique_key = "u"};
    what.retry.max_attempts = 7;
    const job_id id = enqueue(what);
    EXPECT_EQ(change(id, {.payload = "new"}), job_change_outcome::changed);
    EXPECT_EQ(info(id).payload, "new");
    EXPECT_EQ(info(id).kind, "letter");
    EXPECT_EQ(info(id).priority, 3);
    EXPECT_EQ(change(id, {.kind = "parcel", .priority = -5}), job_change_outcome::changed);
    EXPECT_EQ(change(id, {.kind = "parcel", .priority = -5}), job_change_outcome::changed);
    const claimed_job claim = one_.claim_one();
    EXPECT_EQ(claim.id, id);
    EXPECT_EQ(claim.kind, "parcel");
    EXPECT_EQ(claim.payload, "new");
    EXPECT_EQ(claim.retry.max_attempts, 7);
    EXPECT_EQ(info(id).priority, -5);
    EXPECT_EQ(info(id).unique_key, "u");
}

TEST_F(job_change_suite, a_changed_priority_counts_at_the_next_claim) {
    const job_id first = enqueue(), second = enqueue();
    EXPECT_EQ(change(second, {.priority = -1}), job_change_outcome::changed);
    EXPECT_EQ(ids_of(one_.claim(10)), (std::vector{second, first}));
}

TEST_F(job_change_suite, a_job_is_put_off_and_called_back) {
    const job_id id = enqueue();
    EXPECT_EQ(change(id, {.delay = 1h}), job_change_outcome::changed);
    EXPECT_EQ(state(id), job_state::scheduled);
    EXPECT_GT(info(id).due_in, 50min);
    EXPECT_TRUE(one_.claim(10).empty());
    EXPECT_EQ(promote(), 0);
    EXPECT_EQ(change(id, {.delay = 0ms}), job_change_outcome::changed);
    EXPECT_EQ(state(id), job_state::available);
    EXPECT_EQ(one_.claim_one().id, id);
}

TEST_F(job_change_suite, a_time_that_is_over_makes_it_due) {
    const job_id id = enqueue(delayed(3h));
    constexpr schedule::instant long_ago{std::chrono::sys_days{std::chrono::year{1999} / 1 / 1}};
    EXPECT_EQ(change(id, {.run_at = long_ago}), job_change_outcome::changed);
    EXPECT_EQ(promote(), 1);
    EXPECT_EQ(one_.claim_one().id, id);
}

TEST_F(job_change_suite, the_next_attempt_changes_and_the_attempts_stay) {
    const job_id id = enqueue({.payload = "old"});
    EXPECT_TRUE(one_.fail(one_.claim_one(), 1h));
    EXPECT_EQ(change(id, {.payload = "new", .delay = 2h}), job_change_outcome::changed);
    EXPECT_EQ(state(id), job_state::retryable);
    EXPECT_GT(info(id).due_in, 90min);
    EXPECT_EQ(change(id, {.delay = 0ms}), job_change_outcome::changed);
    const claimed_job claim = one_.claim_one();
    EXPECT_EQ(claim.payload, "new");
    EXPECT_EQ(claim.attempts, 2);
}

TEST_F(job_change_suite, one_that_runs_or_has_ended_stays) {
    const job_id id = enqueue({.payload = "old"});
    const claimed_job claim = one_.claim_one();
    EXPECT_EQ(change(id, {.payload = "new", .delay = 1h}), job_change_outcome::running);
    EXPECT_EQ(info(id).payload, "old");
    EXPECT_TRUE(one_.finish(end_of(claim, job_step::discard, 0s, "no use")));
    EXPECT_EQ(change(id, {.payload = "new"}), job_change_outcome::ended);
    EXPECT_EQ(info(id).payload, "old");
    constexpr job_id unknown = job_id{1} << 60;
    EXPECT_EQ(change(unknown, {.payload = "new"}), job_change_outcome::not_found);
}

TEST_F(job_change_suite, one_that_waits_for_others_has_no_time_but_may_change) {
    const job_id before = enqueue();
    const job_id id = job_queue{first_, queue_}.enqueue({.depends_on = {before}}).id;
    EXPECT_EQ(change(id, {.payload = "new", .delay = 1h}), job_change_outcome::waits);
    EXPECT_EQ(info(id).payload, "");
    EXPECT_EQ(change(id, {.payload = "new"}), job_change_outcome::changed);
    EXPECT_EQ(info(id).payload, "new");
    EXPECT_EQ(state(id), job_state::blocked);
}

TEST_F(job_change_suite, one_of_an_ordering_key_keeps_its_place) {
    const job_id first = enqueue({.ordering_key = "k"}), second = enqueue({.ordering_key = "k"});
    const claimed_job claim = one_.claim_one();
    EXPECT_EQ(claim.id, first);
    EXPECT_EQ(change(second, {.delay = 0ms}), job_change_outcome::changed);
    EXPECT_TRUE(one_.claim(10).empty()) << "the first one runs";
    EXPECT_TRUE(one_.finish(end_of(claim, job_step::complete)));
    EXPECT_EQ(one_.claim_one().id, second);
}

TEST_F(job_change_suite, the_next_of_its_key_goes_on_when_the_first_is_put_off) {
    const job_id first = enqueue({.ordering_key = "k"}), second = enqueue({.ordering_key = "k"});
    EXPECT_EQ(change(first, {.delay = 1h}), job_change_outcome::changed);
    EXPECT_EQ(unblock(), 1);  // as a worker does in its turns
    EXPECT_EQ(one_.claim_one().id, second);
}

TEST_F(job_change_suite, a_next_attempt_that_is_put_off_keeps_its_key) {
    const job_id first = enqueue({.ordering_key = "k"});
    EXPECT_TRUE(one_.fail(one_.claim_one(), 1h));
    enqueue({.ordering_key = "k"});
    EXPECT_EQ(change(first, {.delay = 2h}), job_change_outcome::changed);
    EXPECT_TRUE(one_.claim(10).empty());
}

TEST_F(job_change_suite, one_that_is_due_keeps_its_wait_with_a_delay_of_nothing) {
    const job_id id = enqueue();
    age(id, 1h);
    EXPECT_EQ(change(id, {.delay = 0ms}), job_change_outcome::changed);
    EXPECT_EQ(state(id), job_state::available);
    EXPECT_GT(one_.claim_one().waited.value(), 50min);
}

TEST_F(job_change_suite, what_no_job_can_have_is_refused) {
    EXPECT_EQ(refused({}), errc::invalid_argument);
    EXPECT_EQ(refused({.priority = 40'000}), errc::invalid_argument);
    EXPECT_EQ(refused({.delay = -1ms}), errc::invalid_argument);
    EXPECT_EQ(refused({.kind = std::string(300, 'x')}), errc::invalid_argument);
    EXPECT_EQ(refused({.payload = std::string("a\0b", 3)}), errc::invalid_argument);
    EXPECT_EQ(refused({.run_at = schedule::instant{}, .delay = 1s}), errc::invalid_argument);
}

}  // namespace
}  // namespace leasehold::testing
