// The time until an idle worker starts a runnable job, beside very many that wait: half
// of them for an ordering key, half for a job that does not end.
#include <algorithm>
#include <atomic>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include "conformance/job_notification_suite.hpp"

namespace leasehold::testing {
namespace {

class wake_suite : public job_notification_suite {
protected:
    static constexpr int waiting = 200'000, rounds = 200;
    static constexpr double p99_max_ms = 50;

    static new_job of_kind(const std::string& kind, const std::string& ordering_key = "") {
        new_job made = keyed(ordering_key);
        made.kind = kind;
        return made;
    }
    void SetUp() override {
        const std::vector<new_job> of_one_key(waiting / 2, of_kind("nobody", "one"));
        queue_of_jobs_.enqueue_many(of_one_key);
        new_job needs_one = of_kind("nobody");
        needs_one.depends_on = {queue_of_jobs_.enqueue(of_kind("nobody")).id};
        queue_of_jobs_.enqueue_many(std::vector<new_job>(waiting / 2, needs_one));

        works_.handle("run", [this](leasehold::job&) { note_start(); });
        works_.handle("hold", [this](leasehold::job&) {
            is_held_ = true;
            EXPECT_TRUE(eventually([&] { return may_end_.load(); }));
        });
        runs_ = thread{[this] { works_.run(stop_.get_token()); }};
        // Enqueuers do not know a new worker yet.
        wait_until_quiet(job_notifier::known_for);
    }
    void TearDown() override {
        may_end_ = true;
        stop_.request_stop();
        runs_.join();
    }

    void note_start() {
        started_at_ = local_clock::now();
        has_started_ = true;
    }
    // The job `one` makes runnable, from the instant that it answers with, each time.
    void expect_soon(
        const std::string& what, const std::function<local_clock::time_point(int)>& one
    ) {
        std::vector<double> taken;
        for (int round = 0; round < rounds; ++round) {
            has_started_ = is_held_ = may_end_ = false;
            const auto from = one(round);
            ASSERT_TRUE(eventually([&] { return has_started_.load(); })) << what << ' ' << round;
            const std::chrono::duration<double, std::milli> each = started_at_.load() - from;
            taken.push_back(each.count());
            may_end_ = true;
            ASSERT_TRUE(eventually([&] { return nothing_runs(); })) << what << ' ' << round;
        }
        std::ranges::sort(taken);
        const double p99 = taken.at(taken.size() * 99 / 100);
        std::cout << what << ": p50 " << taken.at(taken.size() / 2) << " ms, p99 " << p99
                  << " ms, most " << taken.back() << " ms\n";
        EXPECT_LT(p99, p99_max_ms) << what;
    }
    bool nothing_runs() const {
        return with_stores(first_, [&](connection& on, store_set& stores) {
            return stores.get<job_store>().find_claims(on, queue_, mine_.id()).empty();
        });
    }
    // Begins a job that runs until it may end, and behind it the job that is to be started.
    void begin_before(const std::string& ordering_key) {
        queue_of_jobs_.enqueue_many({of_kind("hold", ordering_key), of_kind("run", ordering_key)});
        ASSERT_TRUE(eventually([&] { return is_held_.load(); }));
    }
    // The same without a key, one after the other: a claim of several kinds on MySQL may see a
    // commit for the second kind alone.
    void begin_beside() {
        queue_of_jobs_.enqueue(of_kind("hold"));
        ASSERT_TRUE(eventually([&] { return is_held_.load(); }));
        queue_of_jobs_.enqueue(of_kind("run"));
    }
    local_clock::time_point raise_limits(const queue_limits& to) const {
        EXPECT_FALSE(has_started_);
        const auto from = local_clock::now();
        queue_of_jobs_.set_limits(to);
        return from;
    }
    local_clock::time_point end_it() {
        const auto from = local_clock::now();
        may_end_ = true;
        return from;
    }

    const job_queue queue_of_jobs_{first_, queue_};
    session mine_{second_, calm("worker")};
    leasehold::worker works_{mine_, {.queues = {queue_}, .concurrency = 4, .poll_every = 1h}};
    std::atomic<bool> is_held_ = false, may_end_ = false, has_started_ = false;
    std::atomic<local_clock::time_point> started_at_{};
    std::stop_source stop_;
    thread runs_;
};

TEST_F(wake_suite, a_job_starts_within_50_ms_beside_200000_that_wait) {
    expect_soon("a new job", [&](int) {
        const auto from = local_clock::now();
        queue_of_jobs_.enqueue(of_kind("run"));
        return from;
    });
    expect_soon("the end of a predecessor", [&](int round) {
        begin_before("k" + std::to_string(round));
        return end_it();
    });
    expect_soon("the end of a dependency", [&](int) {
        new_job needs_it = of_kind("run");
        needs_it.depends_on = {queue_of_jobs_.enqueue(of_kind("hold")).id};
        queue_of_jobs_.enqueue(needs_it);
        EXPECT_TRUE(eventually([&] { return is_held_.load(); }));
        return end_it();
    });
    expect_soon("resume", [&](int) {
        queue_of_jobs_.pause();
        queue_of_jobs_.enqueue(of_kind("run"));
        const auto from = local_clock::now();
        queue_of_jobs_.resume();
        return from;
    });
    expect_soon("a predecessor that is cancelled", [&](int round) {
        new_job later = of_kind("nobody", "c" + std::to_string(round));
        const job_id first = queue_of_jobs_.enqueue(later).id;
        later.kind = "run";
        queue_of_jobs_.enqueue(later);
        const auto from = local_clock::now();
        EXPECT_EQ(cancel_job(first_, first), cancel_outcome::cancelled);
        return from;
    });
    expect_soon("a raised limit of a key", [&](int round) {
        queue_of_jobs_.set_limits({});
        begin_before("l" + std::to_string(round));
        return raise_limits({.max_running_per_key = 2});
    });
    expect_soon("a raised limit of the queue", [&](int) {
        queue_of_jobs_.set_limits({.max_running = 1});
        begin_beside();
        return raise_limits({.max_running = 2});
    });
    expect_soon("a raised rate", [&](int) {
        queue_of_jobs_.set_limits({.max_starts = 1, .starts_per = 1h});
        begin_beside();
        return raise_limits({.max_starts = 2, .starts_per = 1h});
    });
}

}  // namespace
}  // namespace leasehold::testing
