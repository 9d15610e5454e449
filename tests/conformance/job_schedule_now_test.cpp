// Schedules that somebody runs at once, or pauses for a time.
#include <string>

#include "conformance/job_schedule_suite.hpp"
#include "leasehold/inspect.hpp"

namespace leasehold::testing {
namespace {

using std::chrono::days;

class job_schedule_now_suite : public job_schedule_suite {
protected:
    job_schedule_info seen() const { return find_job_schedule(second_, name_).value(); }
    // The first fire time that is not before `length` from then on.
    schedule::instant first_after(const job_schedule_info& then, days length) const {
        const auto now = then.next - then.next_in;
        return schedule::every(period_).next(now + length - std::chrono::microseconds{1});
    }
};

TEST_F(job_schedule_now_suite, its_job_is_enqueued_at_once_and_its_times_stay) {
    set_job_schedule(first_, rare());
    const auto before = seen();
    const auto made = run_job_schedule(second_, name_);
    ASSERT_TRUE(made);
    EXPECT_TRUE(made->is_new);
    const auto job = find_job(first_, made->id).value();
    EXPECT_EQ(job.queue, queue_);
    EXPECT_EQ(job.kind, "report");
    EXPECT_TRUE(job.payload.starts_with("for 2")) << job.payload;
    EXPECT_TRUE(job.payload.ends_with("Z")) << job.payload;
    EXPECT_EQ(seen().next, before.next);
    EXPECT_EQ(seen().last, before.last);
    EXPECT_NE(run_job_schedule(second_, name_)->id, made->id) << "each time one more";
    EXPECT_FALSE(run_job_schedule(first_, name_ + "?"));
}

TEST_F(job_schedule_now_suite, one_that_is_paused_runs_when_it_is_asked_to) {
    job_schedule what = rare();
    what.job.unique_key = "at most one";
    set_job_schedule(first_, what);
    EXPECT_TRUE(pause_job_schedule(first_, name_));
    const auto made = run_job_schedule(first_, name_);
    ASSERT_TRUE(made);
    EXPECT_TRUE(made->is_new);
    const auto again = run_job_schedule(first_, name_);
    EXPECT_EQ(again->id, made->id) << "its unique key";
    EXPECT_FALSE(again->is_new);
    EXPECT_TRUE(seen().is_paused);
}

TEST_F(job_schedule_now_suite, a_pause_for_a_time_ends_by_itself) {
    set_job_schedule(first_, rare());
    const auto before = seen();
    EXPECT_TRUE(pause_job_schedule_for(second_, name_, days{310}));
    EXPECT_EQ(seen().next, first_after(before, days{310}));
    EXPECT_FALSE(seen().is_paused);
    EXPECT_GT(seen().next_in, days{309});
    EXPECT_TRUE(pause_job_schedule_for(second_, name_, days{110})) << "another one in its place";
    EXPECT_EQ(seen().next, first_after(before, days{110}));
    EXPECT_FALSE(pause_job_schedule_for(first_, name_ + "?", 1h));
}

TEST_F(job_schedule_now_suite, a_pause_for_a_time_can_be_ended_before) {
    set_job_schedule(first_, rare());
    const auto before = seen();
    EXPECT_TRUE(pause_job_schedule_for(first_, name_, days{310}));
    EXPECT_TRUE(resume_job_schedule(first_, name_));
    EXPECT_EQ(seen().next, before.next);
    EXPECT_TRUE(pause_job_schedule(first_, name_));
    EXPECT_TRUE(pause_job_schedule_for(first_, name_, days{210})) << "of one that was paused";
    EXPECT_FALSE(seen().is_paused);
    EXPECT_EQ(seen().next, first_after(before, days{210}));
}

TEST_F(job_schedule_now_suite, resuming_one_that_is_due_leaves_it_due) {
    set_job_schedule(first_, rare());
    miss(1);
    const auto due = seen();
    EXPECT_TRUE(resume_job_schedule(first_, name_));
    EXPECT_EQ(seen().next, due.next);
    EXPECT_GT(seen().overdue_for, 0s);
}

TEST_F(job_schedule_now_suite, a_pause_has_bounds) {
    set_job_schedule(first_, rare());
    using length_of_pause = std::chrono::microseconds;
    for (const length_of_pause length :
         {length_of_pause{-1},
          length_of_pause{999'999},
          length_of_pause{days{366}} + length_of_pause{1}}) {
        const auto refused = thrown_by([&] { pause_job_schedule_for(first_, name_, length); });
        ASSERT_TRUE(refused);
        EXPECT_EQ(refused->code(), errc::invalid_argument);
    }
}

}  // namespace
}  // namespace leasehold::testing
