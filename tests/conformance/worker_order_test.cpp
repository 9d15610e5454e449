// The order in which a worker claims in several queues.
#include <algorithm>
#include <map>
#include <vector>

#include "conformance/worker_suite.hpp"

namespace leasehold::testing {
namespace {

class worker_order : public worker_suite {
protected:
    // The queues of the jobs, in the order in which one thread began them. Each queue had so many.
    std::vector<std::string> begun(worker_settings by, int jobs_of_each) {
        for (const std::string& queue : queues_) {
            const job_queue into{first_, queue};
            std::vector<new_job> jobs(static_cast<std::size_t>(jobs_of_each), {.kind = "work"});
            into.enqueue_many(jobs);
        }
        by.queues = {queues_[0], queues_[1], queues_[2]};
        by.prefetch = 0;
        std::vector<std::string> order;
        const auto report =
            drain([&](leasehold::job& mine) { order.push_back(mine.queue()); }, std::move(by));
        EXPECT_EQ(report.completed, 3 * jobs_of_each);
        return order;
    }
    std::map<std::string, int> counts(const std::vector<std::string>& order, std::size_t first) {
        std::map<std::string, int> sum;
        for (std::size_t at = 0; at < first; ++at) ++sum[order.at(at)];
        return sum;
    }

    const std::vector<std::string> queues_{fresh("low"), fresh("high"), fresh("some")};
};

TEST_F(worker_order, queues_are_served_in_turn) {
    const auto order = begun(settings(1), 4);
    for (std::size_t turn = 0; turn < 12; turn += 3) {
        const std::vector<std::string> three(
            order.begin() + static_cast<std::ptrdiff_t>(turn),
            order.begin() + static_cast<std::ptrdiff_t>(turn + 3)
        );
        EXPECT_TRUE(std::ranges::is_permutation(three, queues_)) << "turn " << turn / 3;
    }
}

TEST_F(worker_order, a_queue_has_as_many_claims_as_its_weight) {
    worker_settings by = settings(1);
    by.weights = {{queues_[1], 3}};
    const auto order = begun(by, 6);
    // Five claims are a round: three of the heavy queue, one of each other.
    auto sum = counts(order, 10);
    EXPECT_EQ(sum[queues_[1]], 6);
    EXPECT_EQ(sum[queues_[0]], 2);
    EXPECT_EQ(sum[queues_[2]], 2);
    // Its claims are spread: no other queue waits for a whole round.
    sum = counts(order, 3);
    EXPECT_LT(sum[queues_[1]], 3);
}

TEST_F(worker_order, queues_without_jobs_change_nothing_between_two_others) {
    worker_settings by = settings(1);
    std::vector<std::string> names;
    for (int number = 0; number < 10; ++number) names.push_back(fresh("queue"));
    for (const std::string* const queue : {&names.front(), &names.back()}) {
        job_queue{first_, *queue}.enqueue_many(std::vector<new_job>(4, {.kind = "work"}));
    }
    by.queues = names;
    by.prefetch = 0;
    std::vector<std::string> order;
    drain([&](leasehold::job& mine) { order.push_back(mine.queue()); }, by);
    ASSERT_EQ(order.size(), 8U);
    for (std::size_t at = 1; at < order.size(); ++at) EXPECT_NE(order[at], order[at - 1]) << at;
}

TEST_F(worker_order, a_listed_queue_is_emptied_before_the_next_one) {
    worker_settings by = settings(1);
    by.order = queue_order::as_listed;
    const auto order = begun(by, 3);
    std::vector<std::string> wanted;
    for (const std::string& queue : queues_) wanted.insert(wanted.end(), 3, queue);
    EXPECT_EQ(order, wanted);
}

TEST_F(worker_order, a_weight_that_cannot_count_is_refused) {
    const auto refused = [&](const worker_settings& by) {
        const auto thrown = thrown_by([&] { leasehold::worker{second_, by}; });
        return thrown ? std::optional{thrown->code()} : std::nullopt;
    };
    worker_settings by = settings(1);
    for (const int weight : {0, -1, 1001}) {
        by.weights = {{name_, weight}};
        EXPECT_EQ(refused(by), errc::invalid_argument) << weight;
    }
    for (const char* const queue : {"another", ""}) {
        by.weights = {{queue, 2}};
        EXPECT_EQ(refused(by), errc::invalid_argument) << queue;
    }
    by.weights = {{name_, 2}};
    by.order = queue_order::as_listed;
    EXPECT_EQ(refused(by), errc::invalid_argument);
    by.order = queue_order::in_turn;
    EXPECT_EQ(refused(by), std::nullopt);
    by.order = static_cast<queue_order>(7);
    EXPECT_EQ(refused(by), errc::invalid_argument);
}

}  // namespace
}  // namespace leasehold::testing
