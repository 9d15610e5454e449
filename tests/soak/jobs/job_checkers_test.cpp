// Each check of jobs, first on a history in which it holds and then on one with one thing wrong.
#include "soak/jobs/job_checkers.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "soak/expect_findings.hpp"
#include "soak/jobs/job_tables.hpp"

namespace leasehold::soak {
namespace {

// A history as processes would have written it, with times in milliseconds.
class written {
public:
    struct handler {
        int process;
        std::int64_t job;
        std::int64_t token;
        std::int64_t id;
    };

    // Answered 5 ms later.
    void enqueue(
        std::int64_t job,
        std::int64_t at,
        std::int64_t ordering_key = 0,
        std::int64_t unique_key = 0,
        int queue = free_queue
    ) {
        record made{at, 1, ++last_id_, operation::enqueue, phase::invoke, queue};
        made.grant = ordering_key;
        made.token = unique_key;
        add(made);
        made.at_ns = at + 5;
        made.when = phase::ok;
        made.number = job;
        add(made);
    }
    void cancel(std::int64_t job, std::int64_t at, const char* answer) {
        record made{at, 1, ++last_id_, operation::cancel, phase::invoke};
        made.number = job;
        add(made);
        made.at_ns = at + 5;
        made.when = phase::ok;
        made.detail = answer;
        add(made);
    }

    // Its session lives until then, as far as is known when it starts.
    handler start(
        std::int64_t job,
        int process,
        std::int64_t at,
        std::int64_t token,
        std::int64_t live_until,
        std::int64_t ordering_key = 0,
        int queue = free_queue
    ) {
        const handler made{process, job, token, ++last_id_};
        record what{at, process, made.id, operation::run, phase::invoke, queue, ordering_key};
        what.token = token;
        what.number = job;
        what.until_ns = live_until;
        add(what);
        return made;
    }
    // Begun then, its commit sent 5 ms later, answered 5 ms after that. Its row is there where it
    // is ok.
    void effect(
        const handler& of,
        std::int64_t at,
        phase outcome = phase::ok,
        const char* detail = "",
        std::int64_t live_until = 0
    ) {
        record what{
            at, of.process, ++last_id_, operation::effect, phase::invoke, free_queue, of.id};
        what.token = of.token;
        what.number = of.job;
        add(what);
        if (outcome != phase::fail) {
            record sent = what;
            sent.at_ns = at + 5;
            sent.what = operation::completing;
            sent.when = phase::note;
            add(sent);
        }
        record answer = what;
        answer.at_ns = at + 10;
        answer.when = outcome;
        answer.detail = detail;
        answer.until_ns = live_until;
        if (outcome != phase::unknown) add(answer);
        last_effect_ = what.id;
        if (outcome == phase::ok) row(of);
    }
    void row(const handler& of) {
        record what{9000, of.process, last_effect_, operation::done, phase::note};
        what.number = of.job;
        what.token = of.token;
        add(what);
    }
    void end(const handler& of, std::int64_t at, phase outcome = phase::ok) {
        record what{at, of.process, of.id, operation::run, outcome, free_queue};
        what.token = of.token;
        what.number = of.job;
        add(what);
    }
    void left(std::int64_t job, const char* state) {
        record what{9000, 0, 0, operation::left, phase::note};
        what.number = job;
        what.detail = state;
        add(what);
    }
    // Enqueued long before, done by this process in 20 ms.
    void done(
        std::int64_t job,
        int process,
        std::int64_t at,
        std::int64_t token = 1,
        std::int64_t ordering_key = 0,
        int queue = free_queue
    ) {
        const handler mine = start(job, process, at, token, at + 800, ordering_key, queue);
        effect(mine, at + 10);
        end(mine, at + 25);
    }

    all_jobs jobs() const {
        auto all = records_;
        std::ranges::stable_sort(all, {}, &record::at_ns);
        return gather_jobs(all);
    }

private:
    void add(record what) {
        what.at_ns *= ms;
        what.until_ns *= ms;
        records_.push_back(what);
    }

    std::vector<record> records_;
    std::int64_t last_id_ = 0, last_effect_ = 0;
};

findings check_all(const written& of) {
    findings found;
    for (const auto check :
         {check_job_effects,
          check_job_tokens,
          check_job_holders,
          check_job_limits,
          check_job_order,
          check_job_uniqueness}) {
        for (const finding& each : check(of.jobs())) found.push_back(each);
    }
    return found;
}

// ------------------------------------------------------------------------------------------- J1

TEST(job_effect_check, jobs_that_are_done_retried_rescued_and_cancelled_are_fine) {
    written of;
    of.enqueue(1, 0);
    of.done(1, 1, 20);
    of.enqueue(2, 0);
    of.end(of.start(2, 1, 20, 1, 900), 40, phase::fail);
    of.done(2, 2, 60, 2);
    of.enqueue(3, 0);
    of.start(3, 1, 50, 1, 800);  // killed
    of.done(3, 2, 1500, 2);
    of.enqueue(4, 0);
    of.cancel(4, 10, "cancelled");
    // Paused, and refused when it goes on.
    of.enqueue(5, 0);
    const auto late = of.start(5, 3, 20, 1, 800);
    of.done(5, 2, 1500, 2);
    of.effect(late, 2000, phase::fail, "refused, lease_lost");
    of.end(late, 2020, phase::fail);
    EXPECT_TRUE(holds(check_all(of)));
    EXPECT_EQ(measure_jobs(of.jobs()).at("job, free queue"), 4);
    EXPECT_EQ(count_taken_over(of.jobs()), 1);
}

TEST(job_effect_check, one_whose_answer_was_lost_may_be_there_or_not) {
    for (const bool is_there : {true, false}) {
        written of;
        of.enqueue(1, 0);
        const auto first = of.start(1, 1, 20, 1, 800);
        of.effect(first, 30, phase::unknown);
        if (is_there) {
            of.row(first);
        } else {
            of.done(1, 2, 1500, 2);
        }
        EXPECT_TRUE(holds(check_all(of)));
    }
}

TEST(job_effect_check, reports_an_effect_that_is_there_twice) {
    written of;
    of.enqueue(1, 0);
    of.done(1, 1, 20, 1);
    of.done(1, 2, 1500, 2);
    EXPECT_TRUE(reports(check_job_effects(of.jobs()), "job 1: its effect is there 2 times"));
}

TEST(job_effect_check, reports_what_was_refused_and_is_there) {
    written of;
    of.enqueue(1, 0);
    const auto mine = of.start(1, 1, 20, 1, 800);
    of.effect(mine, 30, phase::fail, "refused, lease_lost");
    of.row(mine);
    EXPECT_TRUE(reports(check_job_effects(of.jobs()), "is there, and was not: refused"));
}

TEST(job_effect_check, reports_what_nobody_wrote) {
    written of;
    of.enqueue(1, 0);
    of.row(of.start(1, 1, 20, 1, 800));
    EXPECT_TRUE(reports(check_job_effects(of.jobs()), "is there, and unknown"));
}

TEST(job_effect_check, reports_an_acknowledged_effect_that_is_missing) {
    written of;
    of.enqueue(1, 0);
    const auto mine = of.start(1, 1, 20, 1, 800);
    of.effect(mine, 30);
    EXPECT_TRUE(holds(check_job_effects(of.jobs())));
    auto jobs = of.jobs();
    jobs.at(1).rows.clear();
    EXPECT_TRUE(reports(check_job_effects(jobs), "an acknowledged effect is missing"));
}

TEST(job_effect_check, reports_a_job_that_is_left_or_gone) {
    written of;
    of.enqueue(1, 0);
    of.left(1, "running");
    of.enqueue(2, 0);
    EXPECT_TRUE(reports(check_job_effects(of.jobs()), "job 1: it is left, running"));
    EXPECT_TRUE(reports(check_job_effects(of.jobs()), "job 2: it is gone, without its effect"));
}

TEST(job_effect_check, reports_a_cancelled_job_with_its_effect) {
    for (const char* answer : {"cancelled", "requested", "ended"}) {
        written of;
        of.enqueue(1, 0);
        of.cancel(1, 10, answer);
        of.done(1, 1, 40);
        const auto found = check_job_effects(of.jobs());
        if (std::string_view{answer} == "cancelled") {
            EXPECT_TRUE(reports(found, "it was cancelled, and has its effect"));
        } else {
            EXPECT_TRUE(holds(found)) << answer;
        }
    }
}

TEST(job_effect_check, a_cancel_that_came_too_late_excuses_nothing) {
    written of;
    of.enqueue(1, 0);
    of.cancel(1, 10, "ended");
    EXPECT_TRUE(reports(check_job_effects(of.jobs()), "it is gone, without its effect"));
}

// ------------------------------------------------------------------------------------------- J2

TEST(job_token_check, reports_a_token_that_is_given_twice) {
    written of;
    of.enqueue(1, 0);
    of.start(1, 1, 20, 1, 800);
    of.done(1, 2, 1500, 1);
    EXPECT_TRUE(reports(check_job_tokens(of.jobs()), "the same token"));
}

TEST(job_token_check, reports_a_token_that_goes_backwards) {
    written of;
    of.enqueue(1, 0);
    of.end(of.start(1, 1, 20, 2, 800), 40, phase::fail);
    of.end(of.start(1, 1, 60, 1, 800), 80, phase::fail);
    EXPECT_TRUE(reports(check_job_tokens(of.jobs()), "was claimed after"));
}

TEST(job_token_check, a_late_start_in_another_process_is_fine) {
    written of;
    of.enqueue(1, 0);
    of.done(1, 1, 1500, 2);
    of.start(1, 2, 1800, 1, 0);
    EXPECT_TRUE(holds(check_job_tokens(of.jobs())));
}

TEST(job_token_check, reports_an_effect_under_a_token_that_was_followed) {
    written of;
    of.enqueue(1, 0);
    const auto late = of.start(1, 1, 20, 1, 800);
    of.start(1, 2, 1500, 2, 2500);
    of.effect(late, 1600);
    EXPECT_TRUE(reports(check_job_tokens(of.jobs()), "committed under token 1, and process 2"));
}

// ------------------------------------------------------------------------------------------- J3

TEST(job_holder_check, reports_who_has_the_job_of_a_session_that_lives) {
    written of;
    of.enqueue(1, 0);
    of.start(1, 1, 20, 1, 800);
    of.start(1, 2, 790, 2, 1700);
    EXPECT_TRUE(reports(check_job_holders(of.jobs()), "(token 2) had it 10 ms before process 1"));
    written later;
    later.enqueue(1, 0);
    later.start(1, 1, 20, 1, 800);
    later.start(1, 2, 801, 2, 1700);
    EXPECT_TRUE(holds(check_job_holders(later.jobs())));
}

TEST(job_holder_check, what_its_holder_has_ended_is_anybodys) {
    written of;
    of.enqueue(1, 0);
    of.end(of.start(1, 1, 20, 1, 800), 40, phase::fail);
    of.start(1, 2, 41, 2, 900);
    EXPECT_TRUE(holds(check_job_holders(of.jobs())));
}

TEST(job_holder_check, reports_a_refusal_under_a_session_that_lives) {
    for (const std::int64_t live_until : {0, 35, 900}) {
        written of;
        of.enqueue(1, 0);
        of.effect(of.start(1, 1, 20, 1, 30), 30, phase::fail, "refused, lease_lost", live_until);
        const auto found = check_job_holders(of.jobs());
        if (live_until == 900) {
            EXPECT_TRUE(reports(found, "was refused, and its session lived"));
        } else {
            EXPECT_TRUE(holds(found)) << live_until;
        }
    }
}

// ------------------------------------------------------------------------------------------- J4

TEST(job_limit_check, as_many_as_may_run_at_once) {
    written of;
    for (std::int64_t job = 1; job <= max_running; ++job) {
        of.start(job, 1, 20, 1, 800, 0, limited_queue);
    }
    // The dead count until the last deadline that they knew.
    of.start(max_running + 1, 2, 800, 1, 1700, 0, limited_queue);
    EXPECT_TRUE(holds(check_job_limits(of.jobs())));
    EXPECT_EQ(most_run_at_once(of.jobs(), limited_queue), max_running);
    of.start(max_running + 2, 2, 799, 1, 1700, 0, limited_queue);
    EXPECT_TRUE(reports(check_job_limits(of.jobs()), "4 ran at once, and 3 may"));
}

TEST(job_limit_check, who_is_through_counts_no_more) {
    written of;
    for (std::int64_t job = 1; job <= max_running; ++job) {
        of.done(job, 1, 20, 1, 0, limited_queue);  // its commit is sent after 15 ms
    }
    of.done(max_running + 1, 2, 35, 1, 0, limited_queue);
    EXPECT_TRUE(holds(check_job_limits(of.jobs())));
    of.done(max_running + 2, 2, 34, 1, 0, limited_queue);
    EXPECT_TRUE(reports(check_job_limits(of.jobs()), "4 ran at once"));
}

TEST(job_limit_check, other_queues_have_no_limit) {
    written of;
    for (std::int64_t job = 1; job <= max_running * 2; ++job) of.start(job, 1, 20, 1, 800);
    EXPECT_TRUE(holds(check_job_limits(of.jobs())));
}

// ------------------------------------------------------------------------------------------- J5

TEST(job_order_check, one_after_the_other_in_the_order_of_their_ids) {
    written of;
    for (std::int64_t job = 1; job <= 3; ++job) {
        of.enqueue(job, job * 10, 7);
        of.done(job, 1, 100 * job, 1, 7);
    }
    // Another key, another queue, none.
    of.done(4, 2, 101, 1, 8);
    of.done(5, 2, 101, 1, 7, limited_queue);
    of.done(6, 2, 101);
    EXPECT_TRUE(holds(check_job_order(of.jobs())));
}

TEST(job_order_check, reports_two_of_a_key_at_once) {
    written of;
    of.start(1, 1, 20, 1, 800, 7);
    of.start(2, 2, 40, 1, 800, 7);
    EXPECT_TRUE(reports(check_job_order(of.jobs()), "ordering key 7: 2 ran at once, and 1 may"));
}

TEST(job_order_check, reports_one_that_went_before_an_older_one) {
    written of;
    of.enqueue(1, 0, 7);
    of.enqueue(2, 10, 7);
    of.done(2, 1, 100, 1, 7);
    of.done(1, 1, 200, 1, 7);
    EXPECT_TRUE(reports(check_job_order(of.jobs()), "job 2: it was started by process 1"));
}

TEST(job_order_check, what_was_enqueued_at_the_same_time_has_no_order) {
    written of;
    of.enqueue(1, 0, 7);
    of.enqueue(2, 4, 7);
    of.done(2, 1, 100, 1, 7);
    of.done(1, 1, 200, 1, 7);
    EXPECT_TRUE(holds(check_job_order(of.jobs())));
}

TEST(job_order_check, reports_one_that_started_while_an_older_one_was_tried_again) {
    written of;
    of.enqueue(1, 0, 7);
    of.enqueue(2, 10, 7);
    of.end(of.start(1, 1, 50, 1, 800, 7), 70, phase::fail);
    of.done(2, 2, 100, 1, 7);
    of.done(1, 1, 200, 2, 7);
    EXPECT_TRUE(reports(check_job_order(of.jobs()), "before job 1 of its key had ended"));
}

TEST(job_order_check, what_may_be_cancelled_is_in_nobodys_way) {
    written of;
    of.enqueue(1, 0, 7);
    of.enqueue(2, 10, 7);
    of.cancel(1, 20, "cancelled");
    of.done(2, 2, 100, 1, 7);
    EXPECT_TRUE(holds(check_job_order(of.jobs())));
}

// ------------------------------------------------------------------------------------------- J6

TEST(job_uniqueness_check, one_after_the_other) {
    written of;
    of.enqueue(1, 0, 0, 5);
    of.done(1, 1, 20);
    of.enqueue(2, 100, 0, 5);
    of.done(2, 1, 120);
    of.enqueue(3, 0, 0, 6);
    EXPECT_TRUE(holds(check_job_uniqueness(of.jobs())));
}

TEST(job_uniqueness_check, reports_two_of_a_key) {
    written of;
    of.enqueue(1, 0, 0, 5);
    of.enqueue(2, 10, 0, 5);
    of.done(1, 1, 20);
    EXPECT_TRUE(reports(check_job_uniqueness(of.jobs()), "job 2: it was enqueued while job 1"));
}

}  // namespace
}  // namespace leasehold::soak
