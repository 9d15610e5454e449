// Many want the same keys through all nodes at once: of two nodes that grant one at the same time
// one is rolled back by the cluster, and nobody may take that for a grant, nor for the end of his
// session.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string_view>

#include "cluster/cluster.hpp"
#include "leasehold/leasehold.hpp"
#include "support/thread.hpp"

namespace leasehold::testing {
namespace {

using namespace std::chrono_literals;

class tokens_in_a_cluster : public ::testing::Test {
protected:
    // Half of them ask once, the others wait in the queue for a moment.
    void contend(std::size_t number) {
        const database on = nodes_.open(number % nodes_.size());
        session mine{on, {.name = "contender"}};
        const auto end = local_clock::now() + 6s;
        for (int each = 0; local_clock::now() < end; ++each) {
            const int key = each % 2;
            mutex wanted{mine, "wanted/" + std::to_string(key)};
            try {
                auto got = number < nodes_.size() ? wanted.try_acquire() : wanted.acquire_for(50ms);
                if (!got) continue;
                const std::scoped_lock one{guard_};
                ++given_[{key, got->token().number}];
            } catch (const error& failure) {
                // Again and again another node was faster.
                EXPECT_EQ(failure.code(), errc::transient) << failure.what();
                if (failure.code() != errc::transient) return;
            }
        }
    }

    const cluster nodes_;
    std::mutex guard_;
    std::map<std::pair<int, std::int64_t>, int> given_;  // how often, by key and token
};

TEST_F(tokens_in_a_cluster, are_given_once) {
    {
        std::vector<thread> all;
        for (std::size_t number = 0; number < nodes_.size() * 2; ++number) {
            all.emplace_back([this, number] { contend(number); });
        }
    }
    EXPECT_GT(given_.size(), 20U);
    for (const auto& [token, count] : given_) {
        EXPECT_EQ(count, 1) << "key " << token.first << ", token " << token.second;
    }
}

// What this comes from shows in one grant of more than a thousand; its cure can be asked for.
TEST_F(tokens_in_a_cluster, nothing_is_repeated_by_the_node_itself) {
    if (std::string_view{std::getenv("LEASEHOLD_TEST_CLUSTER")} != "galera") {
        GTEST_SKIP() << "of Galera alone";
    }
    session any{nodes_.open(0), {.name = "any"}};
    const auto found = any.database().execute("SELECT @@SESSION.wsrep_retry_autocommit");
    EXPECT_EQ(found.rows.at(0).integer(0), 0);
}

}  // namespace
}  // namespace leasehold::testing
