// Processes that are killed with -9 while they have jobs: between claim and start, between effect
// and completion, between that and the commit, and while they commit. On every engine that
// processes can share.
#include <algorithm>
#include <future>
#include <map>
#include <random>
#include <set>

#include "conformance/suite.hpp"
#include "fault/child.hpp"
#include "fault/where.hpp"
#include "leasehold/job_queue.hpp"
#include "leasehold/worker.hpp"
#include "support/required.hpp"

namespace leasehold::testing {
namespace {

class job_process_fault : public suite {
protected:
    static constexpr std::chrono::milliseconds ttl{6000};
    // The time for the turn in which somebody rescues, on a busy machine.
    static constexpr std::chrono::milliseconds tolerance{8000};

    std::vector<std::string> command(const char* mode) const {
        return {
            beside_this_program("fault_job_holder_" + current().name),
            program_url_of(current().name, first_),
            first_.settings().names.prefix,
            name_,
            std::to_string(ttl.count()),
            mode};
    }
    void enqueue(int count) const {
        std::vector<new_job> all(static_cast<std::size_t>(count));
        for (int at = 0; at < count; ++at) {
            all[static_cast<std::size_t>(at)].payload = std::to_string(at);
            all[static_cast<std::size_t>(at)].max_rescues = 100;  // each round is one
        }
        queue_.enqueue_many(all);
    }
    std::multiset<std::string> effects() const {
        std::multiset<std::string> all;
        job_filter wanted{.queue = name_ + "/effects"};
        wanted.limit = 10'000;
        for (const job_info& each : list_jobs(second_, wanted)) all.insert(each.payload);
        return all;
    }
    static std::multiset<std::string> numbers(int count) {
        std::multiset<std::string> all;
        for (int at = 0; at < count; ++at) all.insert(std::to_string(at));
        return all;
    }

    // Does what is there, as it comes back, until nothing is left; each is handed to `seen`.
    void inherit(const std::function<void(const leasehold::job&)>& seen) {
        session mine{second_, calm("heir")};
        worker_settings by;
        by.queues = {name_};
        by.concurrency = 2;
        by.poll_every = 50ms;
        leasehold::worker does{mine, by};
        std::mutex one_at_a_time;
        does.handle_all([&](leasehold::job& each) {
            {
                const std::lock_guard guard{one_at_a_time};
                seen(each);
            }
            transaction tx = second_.begin();
            job_queue{second_, name_ + "/effects"}.enqueue_in(tx, {.payload = each.payload()});
            each.complete_in(tx);
            tx.commit();
        });
        std::stop_source over;
        auto works = std::async(std::launch::async, [&] { does.run(over.get_token()); });
        EXPECT_TRUE(eventually(
            [&] {
                const auto left = list_jobs(first_, {.queue = name_, .limit = 1});
                return left.empty() || left[0].state == job_state::discarded;
            },
            60s
        ));
        over.request_stop();
        works.get();
        EXPECT_TRUE(list_jobs(first_, {.queue = name_}).empty());
    }

    const std::string name_ = fresh("queue");
    const job_queue queue_{first_, name_};
};

TEST_F(job_process_fault, what_was_claimed_and_not_begun_is_done_by_another) {
    constexpr int count = 3;
    enqueue(count);
    child holder{command("claim")};
    ASSERT_TRUE(holder.line());
    ASSERT_TRUE(eventually([&] {
        return std::ranges::count(
                   list_jobs(first_, {.queue = name_}), job_state::running, &job_info::state
               ) == count;
    })) << "the others wait in the process for the one thread that it has";
    holder.kill();
    const auto death = local_clock::now();
    inherit([&](const leasehold::job& each) {
        EXPECT_EQ(each.rescues(), 1);
        EXPECT_EQ(each.attempt(), 1) << "none has failed";
        EXPECT_EQ(each.token().number, 2);
        EXPECT_LE(local_clock::now() - death, ttl + tolerance);
    });
    EXPECT_EQ(effects(), numbers(count));
}

TEST_F(job_process_fault, of_what_was_not_committed_nothing_is_there_and_it_is_done_by_another) {
    for (const char* mode : {"effect", "complete"}) {
        enqueue(1);
        const auto before = effects();
        child holder{command(mode)};
        ASSERT_TRUE(holder.line()) << mode;
        EXPECT_EQ(effects(), before) << mode;
        holder.kill();
        int runs = 0;
        inherit([&](const leasehold::job& each) {
            EXPECT_EQ(each.rescues(), 1) << mode;
            ++runs;
        });
        EXPECT_EQ(runs, 1) << mode;
        EXPECT_EQ(effects().size(), before.size() + 1) << mode;
    }
}

// "commits" is said just before a commit is sent, and the kill comes when it is read.
TEST_F(job_process_fault, what_was_being_committed_is_done_once) {
    constexpr int count = 400, rounds = 12;
    enqueue(count);
    std::mt19937 random{static_cast<unsigned>(seed())};
    int killed = 0;
    for (; killed < rounds; ++killed) {
        child holder{command("commit")};
        for (auto lines = 1 + random() % 20; lines > 0; --lines) ASSERT_TRUE(holder.line());
        holder.kill();
    }
    int rescued = 0;
    inherit([&](const leasehold::job& each) { rescued += each.rescues() > 0; });
    EXPECT_GT(rescued, 0) << "nobody had a job when he was killed";
    EXPECT_EQ(effects(), numbers(count));
}

}  // namespace
}  // namespace leasehold::testing
