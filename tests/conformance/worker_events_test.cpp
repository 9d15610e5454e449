// An observer is told of jobs the same as the report and the state in the table say.
#include <map>
#include <stdexcept>

#include "conformance/worker_suite.hpp"
#include "jobs/job_store.hpp"
#include "support/told_events.hpp"

namespace leasehold::testing {
namespace {

class worker_events_suite : public worker_suite {
protected:
    database told_database() const {
        database_settings settings;
        settings.observer = told_;
        return current().open(settings);
    }
    // Returns the only event of the kind about this job.
    std::optional<told_event> told_of(event_kind kind, job_id id) const {
        auto found = told_->of(kind, "");
        std::erase_if(found, [&](const told_event& each) { return each.number != id; });
        EXPECT_LE(found.size(), 1U) << "it was told twice of job " << id;
        return found.empty() ? std::nullopt : std::optional{found.front()};
    }
    // Started and ended in this way, and in the table since in that state.
    void expect_end(job_id id, event_reason how, job_state state) const {
        const auto claimed = told_of(event_kind::job_claimed, id);
        const auto started = told_of(event_kind::job_started, id);
        const auto ended = told_of(event_kind::job_ended, id);
        ASSERT_TRUE(claimed && started && ended) << "job " << id;
        ASSERT_TRUE(claimed->waited && started->waited && ended->waited);
        EXPECT_GE(*claimed->waited, 0ns);
        EXPECT_GE(*started->waited, *claimed->waited);
        EXPECT_EQ(*ended->waited, *started->waited);
        EXPECT_EQ(claimed->job_kind, ended->job_kind);
        EXPECT_EQ(claimed->attempt, 1);
        EXPECT_STREQ(name_of(ended->reason), name_of(how)) << ended->job_kind;
        EXPECT_STREQ(name_of(state_of(id)), name_of(state)) << ended->job_kind;
        EXPECT_EQ(started->queue, name_);
        EXPECT_EQ(ended->queue, name_);
        EXPECT_EQ(started->job_kind, ended->job_kind);
        EXPECT_EQ(started->attempt, 1);
        EXPECT_EQ(ended->attempt, 1);
        ASSERT_TRUE(ended->took);
        EXPECT_GE(*ended->took, 0ns);
    }

    const std::shared_ptr<told_events> told_ = std::make_shared<told_events>();
    const database told_by_ = told_database();
};

TEST_F(worker_events_suite, events_report_and_state_agree_on_each_way_to_end) {
    queue_limits limits;
    limits.keep_completed = 1h;
    queue_.set_limits(limits);
    std::map<std::string, job_id> ids;
    for (const char* const kind :
         {"complete",
          "complete_in",
          "roll_back",
          "fail",
          "fail_last",
          "snooze",
          "release",
          "discard",
          "cancel"}) {
        new_job what{.kind = kind, .retry = {.max_attempts = 20, .delay = 1h}};
        if (what.kind == "fail_last") what.retry.max_attempts = 1;
        ids[kind] = queue_.enqueue(what).id;
    }
    const auto handler = [&](leasehold::job& mine) {
        const std::string& kind = mine.kind();
        if (kind == "complete_in" || kind == "roll_back") {
            transaction tx = told_by_.begin();
            mine.complete_in(tx);
            kind == "complete_in" ? tx.commit() : tx.rollback();
        }
        if (kind == "snooze") mine.snooze_for(1h);
        if (kind == "release") {
            queue_.pause();
            mine.release();
        }
        if (kind == "discard") mine.discard("no use\nnone at all");
        if (kind == "cancel") cancel_job(first_, mine.id());
        const bool throws = kind.starts_with("fail") || kind == "cancel";
        if (throws) throw std::runtime_error("no paper\nno ink");
    };
    session mine{told_by_, calm("worker")};
    auto by = settings(1);
    by.prefetch = 20;
    leasehold::worker does{mine, by};
    does.handle_all(handler);
    const auto report = does.run();
    using why = event_reason;
    expect_end(ids["complete"], why::completed, job_state::completed);
    expect_end(ids["complete_in"], why::completed, job_state::completed);
    expect_end(ids["roll_back"], why::retried, job_state::retryable);
    expect_end(ids["fail"], why::retried, job_state::retryable);
    expect_end(ids["fail_last"], why::discarded, job_state::discarded);
    expect_end(ids["snooze"], why::snoozed, job_state::scheduled);
    expect_end(ids["release"], why::released, job_state::available);
    expect_end(ids["discard"], why::discarded, job_state::discarded);
    expect_end(ids["cancel"], why::cancelled, job_state::cancelled);
    EXPECT_EQ(report.completed, 2);
    EXPECT_EQ(report.failed, 3);
    EXPECT_EQ(report.returned, 2);
    EXPECT_EQ(report.discarded, 1);
    EXPECT_EQ(report.cancelled, 1);
    EXPECT_EQ(report.lost + report.unknown, 0);
    EXPECT_EQ(told_->count(event_kind::job_ended), 9);
    EXPECT_EQ(told_->count(event_kind::job_started), 9);
    const auto detail = [&](const char* kind) {
        return told_of(event_kind::job_ended, ids[kind]).value().detail;
    };
    EXPECT_EQ(detail("fail"), "no paper");
    EXPECT_EQ(detail("discard"), "no use");
    EXPECT_EQ(detail("complete"), "");
}

// The handler is asked to stop, told of at once, and its attempt then fails.
TEST_F(worker_events_suite, a_handler_over_its_time_limit_is_told_of) {
    const auto job =
        queue_.enqueue({.kind = "slow", .retry = {.max_attempts = 1}, .attempt_timeout = 50ms});
    session mine{told_by_, calm("worker")};
    leasehold::worker does{mine, settings(1)};
    does.handle_all([&](leasehold::job& one) { EXPECT_TRUE(stopped(one.stop(), 20s)); });
    EXPECT_EQ(does.run().failed, 1);
    expect_end(job.id, event_reason::discarded, job_state::discarded);
    const auto late = told_of(event_kind::job_timed_out, job.id);
    ASSERT_TRUE(late);
    EXPECT_EQ(late->queue, name_);
    EXPECT_EQ(late->job_kind, "slow");
    EXPECT_EQ(late->attempt, 1);
    EXPECT_GE(late->took.value(), 50ms);
    EXPECT_EQ(late->waited, told_of(event_kind::job_started, job.id).value().waited);
}

TEST_F(worker_events_suite, new_jobs_are_told_of_when_they_are_committed) {
    const job_queue mine{told_by_, name_};
    const auto told = [&] {
        std::vector<job_id> ids;
        for (const told_event& each : told_->of(event_kind::job_enqueued, "")) {
            EXPECT_EQ(each.queue, name_);
            EXPECT_EQ(each.job_kind, "k");
            ids.push_back(each.number);
        }
        told_->forget();
        return ids;
    };
    const new_job unique{.kind = "k", .unique_key = fresh("u")};
    const job_id first = mine.enqueue(unique).id;
    EXPECT_EQ(told(), std::vector{first});
    EXPECT_FALSE(mine.enqueue(unique).is_new);
    EXPECT_EQ(told(), std::vector<job_id>{});
    const auto two = mine.enqueue_many({{.kind = "k"}, unique, {.kind = "k"}});
    EXPECT_EQ(told(), (std::vector{two[0].id, two[2].id}));
    {
        transaction tx = told_by_.begin();
        mine.enqueue_in(tx, {.kind = "k"});
        tx.rollback();
    }
    EXPECT_EQ(told(), std::vector<job_id>{});
    transaction tx = told_by_.begin();
    const job_id one = mine.enqueue_in(tx, {.kind = "k"}).id;
    const job_id other = mine.enqueue_many_in(tx, {unique, {.kind = "k"}}).at(1).id;
    const job_id third = mine.enqueue_many_in(tx, {unique, {.kind = "k"}}).at(1).id;
    EXPECT_EQ(told(), std::vector<job_id>{});
    tx.commit();
    auto ids = told();
    std::ranges::sort(ids);
    EXPECT_EQ(ids, (std::vector{one, other, third}));
}

TEST_F(worker_events_suite, a_job_that_is_put_back_at_the_end_is_told_of_if_it_has_started) {
    const auto made = queue_.enqueue_many({{}, {}});
    auto by = settings(1);
    by.prefetch = 1;
    by.stop_when_idle = false;
    by.drain_timeout = 0ms;
    shift ends{told_by_, by, [&](leasehold::job& mine) {
                   EXPECT_TRUE(stopped(mine.stop(), 20s));
                   throw std::runtime_error("stopped");
               }};
    ASSERT_TRUE(eventually([&] { return told_->count(event_kind::job_started) == 1; }));
    EXPECT_EQ(ends.end().returned, 1);
    EXPECT_EQ(told_->count(event_kind::job_started), 1);
    EXPECT_EQ(told_->count(event_kind::job_ended), 1);
    const auto ended = told_of(event_kind::job_ended, made.front().id);
    ASSERT_TRUE(ended);
    EXPECT_EQ(ended->reason, event_reason::released);
    EXPECT_TRUE(ended->took);
    for (const enqueued_job& each : made) EXPECT_EQ(state_of(each.id), job_state::available);
}

TEST_F(worker_events_suite, the_end_of_a_job_that_somebody_else_has_is_told_as_lost) {
    const auto job = queue_.enqueue({});
    std::promise<void> go_on;
    auto waits = go_on.get_future().share();
    shift late{told_by_, settings(1), [&](leasehold::job&) { waits.wait(); }};
    ASSERT_TRUE(eventually([&] { return told_->count(event_kind::job_started) == 1; }));
    expire(late.mine);
    auto by = settings(1);
    by.stop_when_idle = false;
    shift other{first_, by, [](leasehold::job&) {}};
    EXPECT_TRUE(eventually([&] { return other.does.progress().completed == 1; }, 60s));
    go_on.set_value();
    late.stop.request_stop();
    // Its session has ended by the database's word, which it may have been told or not.
    thrown_by([&] { late.report.get(); });
    EXPECT_EQ(late.does.progress().lost, 1);
    EXPECT_EQ(late.does.progress().completed, 0);
    const auto ended = told_of(event_kind::job_ended, job.id);
    ASSERT_TRUE(ended);
    EXPECT_EQ(ended->reason, event_reason::lost);
    EXPECT_EQ(ended->attempt, 1);
}

// A worker that dies is no end of an attempt. What may have killed it is discarded in the end.
TEST_F(worker_events_suite, rescued_jobs_are_told_by_what_becomes_of_them) {
    queue_.enqueue_many({{.retry = {.max_attempts = 1}}, {.max_rescues = 1}});
    const auto dead = std::make_unique<session>(first_, calm("dead"));
    first_.inner()->use([&](connection& on, store_set& stores) {
        stores.get<job_store>().claim(on, {name_, {}, 2, dead->id(), "dead"});
    });
    expire(*dead);
    auto by = settings(1);
    by.stop_when_idle = false;
    shift other{told_by_, by, [](leasehold::job&) {}};
    EXPECT_TRUE(eventually([&] { return other.does.progress().completed == 1; }, 60s));
    EXPECT_EQ(other.end().rescued, 1);
    std::map<event_reason, std::int64_t> told;
    for (const told_event& each : told_->of(event_kind::job_rescued, "")) {
        EXPECT_EQ(each.queue, name_);
        told[each.reason] += each.number;
    }
    using counts = std::map<event_reason, std::int64_t>;
    EXPECT_EQ(told, (counts{{event_reason::released, 1}, {event_reason::discarded, 1}}));
}

}  // namespace
}  // namespace leasehold::testing
