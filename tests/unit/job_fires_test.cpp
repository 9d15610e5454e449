// The fire times of a schedule that bring a job.
#include <gtest/gtest.h>

#include "jobs/fire.hpp"

namespace leasehold {
namespace {

using namespace std::chrono_literals;
using std::chrono::sys_days;

const schedule::instant noon = sys_days{std::chrono::year{2026} / 11 / 25} + 12h;

job_schedule minutely(misfire_policy policy) {
    job_schedule made;
    made.name = "minutely";
    made.queue = "q";
    made.every = 1min;
    made.misfire = policy;
    made.max_catch_up = 3;
    made.max_late = 90s;
    return made;
}

fires fired(const job_schedule& what, schedule::instant next, schedule::instant now) {
    return fires_of(what, times_of(what), next, now);
}

using instants = std::vector<schedule::instant>;

TEST(job_fires, nothing_comes_before_its_time) {
    const fires none = fired(minutely(misfire_policy::fire_once), noon, noon - 1us);
    EXPECT_TRUE(none.times.empty());
    EXPECT_EQ(none.next, noon);
    EXPECT_FALSE(none.last);
}

TEST(job_fires, what_is_not_too_late_comes_under_each_policy) {
    for (const auto policy :
         {misfire_policy::skip, misfire_policy::fire_once, misfire_policy::catch_up}) {
        const fires two = fired(minutely(policy), noon, noon + 80s);
        EXPECT_EQ(two.times, (instants{noon, noon + 1min})) << name_of(policy);
        EXPECT_EQ(two.next, noon + 2min);
        EXPECT_EQ(two.last, noon + 1min);
        EXPECT_FALSE(two.has_missed);
    }
}

TEST(job_fires, max_the_last_instant_in_time_is_that_of_late) {
    const job_schedule what = minutely(misfire_policy::skip);
    EXPECT_EQ(fired(what, noon, noon + 90s).times.size(), 2U);
    const fires late = fired(what, noon, noon + 90s + 1us);
    EXPECT_EQ(late.times, (instants{noon + 1min}));
    EXPECT_TRUE(late.has_missed);
}

TEST(job_fires, missed_ones_go_by_the_policy) {
    const auto now = noon + 1h + 1s;
    const instants in_time{noon + 59min, noon + 60min};
    EXPECT_EQ(fired(minutely(misfire_policy::skip), noon, now).times, in_time);
    EXPECT_EQ(fired(minutely(misfire_policy::fire_once), noon, now).times, in_time)
        << "one that is in time is the one for all";
    const fires caught_up = fired(minutely(misfire_policy::catch_up), noon, now);
    EXPECT_EQ(
        caught_up.times,
        (instants{noon + 56min, noon + 57min, noon + 58min, noon + 59min, noon + 60min})
    );
    EXPECT_TRUE(caught_up.has_missed);
    EXPECT_EQ(caught_up.next, noon + 61min);
}

TEST(job_fires, of_missed_ones_alone_the_latest_comes_with_fire_once) {
    job_schedule daily = minutely(misfire_policy::fire_once);
    daily.every = 24h;
    const auto midnight = noon - 12h;
    EXPECT_EQ(fired(daily, midnight - 72h, noon).times, instants{midnight});
    daily.misfire = misfire_policy::skip;
    const fires none = fired(daily, midnight - 72h, noon);
    EXPECT_TRUE(none.times.empty());
    EXPECT_EQ(none.next, midnight + 24h);
    EXPECT_EQ(none.last, midnight);
}

TEST(job_fires, more_than_a_thousand_come_in_parts) {
    job_schedule often = minutely(misfire_policy::catch_up);
    often.every = 1s;
    often.max_catch_up = 100;
    often.max_late = 3600s;
    auto next = noon - 2h;
    std::size_t jobs = 0;
    for (int part = 0; next <= noon; ++part) {
        ASSERT_LT(part, 10);
        const fires some = fired(often, next, noon);
        EXPECT_LE(some.times.size(), 1000U);
        ASSERT_FALSE(some.times.empty());
        EXPECT_EQ(some.next, some.times.back() + 1s);
        EXPECT_EQ(some.last, some.times.back());
        jobs += some.times.size();
        next = some.next;
    }
    EXPECT_EQ(jobs, 3601U + 100U);
}

// 2026-03-29 01:00 UTC the clocks of Berlin go from 2:00 to 3:00; 2026-10-25 01:00 UTC from 3:00 to
// 2:00.
TEST(job_fires, a_time_that_is_skipped_comes_once_and_one_that_is_repeated_too) {
    for (const auto policy :
         {misfire_policy::skip, misfire_policy::fire_once, misfire_policy::catch_up}) {
        job_schedule nightly = minutely(policy);
        nightly.every.reset();
        nightly.cron = "30 2 * * *";
        nightly.zone = "Europe/Berlin";
        const auto gap = sys_days{std::chrono::year{2026} / 3 / 29} + 1h;
        EXPECT_EQ(fired(nightly, gap, gap + 30s).times, instants{gap}) << name_of(policy);
        const auto fold = sys_days{std::chrono::year{2026} / 10 / 25} + 30min;
        const fires first = fired(nightly, fold, fold + 30s);
        EXPECT_EQ(first.times, instants{fold}) << name_of(policy);
        EXPECT_EQ(first.next, fold + 25h) << "the day is so long, and it does not come again";
        EXPECT_TRUE(fired(nightly, first.next, fold + 1h + 30s).times.empty());
    }
}

TEST(job_fires, the_payload_has_the_fire_time) {
    job_schedule what = minutely(misfire_policy::skip);
    what.job.payload = R"({"at":"{fire_time}","again":"{fire_time}","not":"{fire}"})";
    const new_job made = job_at(what, noon);
    EXPECT_EQ(
        made.payload,
        R"({"at":"2026-11-25T12:00:00Z","again":"2026-11-25T12:00:00Z","not":"{fire}"})"
    );
    EXPECT_EQ(made.unique_key, "minutely@2026-11-25T12:00:00Z");
    EXPECT_EQ(text_of(noon + 1us), "2026-11-25T12:00:00.000001Z");
    what.job.unique_key = "mine";
    EXPECT_EQ(job_at(what, noon).unique_key, "mine");
}

}  // namespace
}  // namespace leasehold
