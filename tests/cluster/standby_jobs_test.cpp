// Workers of jobs whose primary is killed while their heartbeats, claims, ends and commits wait for
// the standby that is then promoted: each job has its effect once, and no worker ends.
#include <algorithm>
#include <atomic>
#include <future>
#include <memory>
#include <set>

#include "cluster/standbys.hpp"
#include "leasehold/leasehold.hpp"
#include "support/eventually.hpp"

namespace leasehold::testing {
namespace {

using namespace std::chrono_literals;

class synchronous_jobs : public standbys {
protected:
    static constexpr int count = 3'000;

    // One worker, until it is told to stop. Its jobs' effects are jobs of another queue.
    struct shift {
        explicit shift(const database& on)
            : db(on),
              mine(db, {.name = "worker", .ttl = 60s, .heartbeat_every = 100ms}),
              does(
                  mine, {.queues = {"work"}, .concurrency = 4, .prefetch = 8, .poll_every = 50ms}
              ) {
            does.handle_all([this](job& each) {
                transaction tx = db.begin();
                job_queue{db, "effects"}.enqueue_in(tx, {.payload = each.payload()});
                each.complete_in(tx);
                tx.commit();
            });
            report = std::async(std::launch::async, [this] { return does.run(over.get_token()); });
        }
        ~shift() { over.request_stop(); }
        bool is_at_work() const { return report.wait_for(0s) == std::future_status::timeout; }

        const database db;
        session mine;
        leasehold::worker does;
        std::stop_source over;
        std::future<worker_report> report;
    };

    void enqueue() const {
        std::vector<new_job> all(count);
        for (int at = 0; at < count; ++at) {
            all[static_cast<std::size_t>(at)].payload = std::to_string(at);
            // A job that meets the fail-over is tried again soon, and as often as that takes.
            all[static_cast<std::size_t>(at)].retry = {1'000, 50ms, 200ms};
        }
        job_queue{open(), "work"}.enqueue_many(all);
    }
    static std::size_t left(const database& db, const char* queue) {
        std::size_t sum = 0;
        for (const auto& [state, jobs] : job_queue{db, queue}.describe().jobs) {
            sum += static_cast<std::size_t>(jobs);
        }
        return sum;
    }
};

TEST_F(synchronous_jobs, a_fail_over_in_mid_heartbeat_does_no_job_twice_and_loses_none) {
    enqueue();
    const database look = open();
    std::vector<std::unique_ptr<shift>> all;
    for (int each = 0; each < 2; ++each) all.push_back(std::make_unique<shift>(open(1s)));
    ASSERT_TRUE(eventually_well([&] { return left(look, "effects") > 100; }));
    cluster_.control(standby(), "hold");
    const auto deadline = all[0]->mine.deadline();
    // These are both heartbeats, and the workers' calls beside them.
    ASSERT_TRUE(eventually([&] { return waits_for_standby(primary()) > 4; }));
    cluster_.control(primary(), "kill");
    promote(standby());
    EXPECT_TRUE(eventually([&] { return all[0]->mine.deadline() > deadline; }, 60s));
    EXPECT_TRUE(ask_until(
        [&] {
            try {
                return left(look, "work") == 0;
            } catch (const error& failure) {
                EXPECT_TRUE(failure.is_transient()) << failure.what();
                return false;
            }
        },
        100s
    ));
    std::int64_t failed = 0;
    for (const auto& each : all) {
        EXPECT_TRUE(each->is_at_work());
        EXPECT_TRUE(each->mine.is_live());
        each->over.request_stop();
        failed += each->report.get().failed;
    }
    std::multiset<std::string> done;
    job_filter wanted;
    wanted.queue = "effects";
    wanted.limit = 10'000;
    for (const job_info& each : list_jobs(look, wanted)) done.insert(each.payload);
    EXPECT_EQ(done.size(), std::size_t{count});
    EXPECT_EQ(std::set<std::string>(done.begin(), done.end()).size(), std::size_t{count});
    std::printf("%d jobs, %d attempts failed by the fail-over\n", count, static_cast<int>(failed));
}

}  // namespace
}  // namespace leasehold::testing
