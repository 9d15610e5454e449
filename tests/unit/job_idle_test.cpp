// What a worker asks the database while there is nothing to do.
#include <map>

#include "leasehold/worker.hpp"
#include "support/thread.hpp"
#include "unit/model_fixture.hpp"

namespace leasehold::testing {
namespace {

class job_idle_test : public model_test {
protected:
    // How often each request was sent, from now on.
    void count_requests() {
        plan_->fail_when([this](std::string_view statement, int) {
            const std::lock_guard guard{mutex_};
            ++counts_[std::string{statement}];
            return std::nullopt;
        });
    }
    int count_of(const std::string& name) const {
        const std::lock_guard guard{mutex_};
        const auto found = counts_.find(name);
        return found == counts_.end() ? 0 : found->second;
    }
    std::map<std::string, int> counts() const {
        const std::lock_guard guard{mutex_};
        return counts_;
    }

    // Of the tests of a session.
    const std::vector<std::string> queues_{"one", "two", "three"};

private:
    mutable std::mutex mutex_;
    std::map<std::string, int> counts_;
};

TEST_F(job_idle_test, it_looks_once_in_each_interval_for_all_its_queues) {
    session mine{patient(), calm("idle")};
    leasehold::worker idle{
        mine, {.queues = queues_, .threads = 4, .prefetch = 100, .poll_every = 10ms}};
    idle.handle_all([](leasehold::job&) {});
    std::stop_source stop;
    {
        thread works{[&] { idle.run(stop.get_token()); }};
        // Behind its first claims.
        count_requests();
        ASSERT_TRUE(eventually([&] { return count_of("look") >= 20; }));
        count_requests();
        ASSERT_TRUE(eventually([&] { return count_of("look") >= 100; }));
        stop.request_stop();
    }
    int others = 0;
    for (const auto& [name, count] : counts()) {
        if (name == "look" || name == "heartbeat") continue;
        others += count;
    }
    // One of all workers sweeps, each two seconds at most; and it says good-bye.
    EXPECT_LE(others, 40) << "beside " << count_of("look") << " looks";
}

}  // namespace
}  // namespace leasehold::testing
