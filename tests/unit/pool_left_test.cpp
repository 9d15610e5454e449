// The pool and connections that were given up and live on at the server, also when the server lets
// nobody in.
#include <algorithm>
#include <thread>
#include <vector>

#include "support/eventually.hpp"
#include "support/thread.hpp"
#include "unit/pool_fixture.hpp"

namespace leasehold::testing {
namespace {

std::unique_ptr<connection> given_up(std::unique_ptr<connection> lent) {
    seen(lent).is_given_up = true;
    seen(lent).now = connection_state::lost;
    return lent;
}

// Without it each retry opens another one, until the server lets nobody in.
TEST_F(pool_test, one_that_was_given_up_keeps_its_place_until_it_has_ended) {
    constexpr int bound = 2, attempts = 10;
    pool lends{connect(), settings(bound, 60ms)};
    for (int each = 0; each < bound; ++each) lends.give_back(given_up(lends.take()));
    for (int each = 0; each < attempts; ++each) {
        EXPECT_EQ(code_of_take(lends), errc::timed_out);
    }
    EXPECT_GE(record_.asked_after, bound);
    EXPECT_EQ(record_.made, bound + 1) << "one beyond the bound asks";
    EXPECT_EQ(lends.use().lent, bound);
    record_.is_work_over = true;
    std::unique_ptr<connection> lent;
    EXPECT_TRUE(eventually([&] {
        try {
            lent = lends.take();
        } catch (const error&) {
            return false;
        }
        return true;
    }));
    EXPECT_EQ(record_.made, bound + 1) << "the one that asked is lent then";
    EXPECT_EQ(lends.use().lent, 1);
    lends.give_back(std::move(lent));
}

TEST_F(pool_test, one_that_was_given_up_keeps_its_place_until_the_servers_own_limit) {
    pool lends{connect(), settings(1, 20s)};
    auto lent = lends.take();
    const auto limit = local_clock::now() + 80ms;
    seen(lent).work_limit = limit;
    lends.give_back(given_up(std::move(lent)));
    lent = lends.take();
    EXPECT_GE(local_clock::now(), limit);
    EXPECT_EQ(record_.asked_after, 0) << "nobody has to ask";
    lends.give_back(std::move(lent));
}

TEST_F(pool_test, a_heartbeats_that_was_given_up_counts_too) {
    pool lends{connect(), settings(1, 20ms)};
    lends.retire(given_up(lends.connect_apart(1s)));
    EXPECT_EQ(code_of_take(lends), errc::timed_out);
    lends.retire(lends.connect_apart(1s));
    lends.retire(nullptr);
    record_.is_work_over = true;
    EXPECT_TRUE(eventually([&] { return code_of_take(lends) == errc{}; }));
}

// A server that has no connection left: the open connection is the heartbeat's first.
TEST_F(pool_test, a_heartbeat_is_refused_last) {
    pool lends{connect(), settings(3, 50ms)};
    auto lent = lends.take();
    broken_ = true;
    EXPECT_THROW(lends.connect_apart(20s, {}, true), error) << "nothing is free";
    lends.give_back(std::move(lent));
    EXPECT_EQ(code_of_take(lends), errc::connection_failed) << "it is reserved";
    const auto vital = lends.connect_apart(20s, {}, true);
    EXPECT_EQ(seen(vital).number, 1);
    EXPECT_THROW(lends.connect_apart(20s), error) << "others wait for the server";
    broken_ = false;
    lends.give_back(lends.take());
    EXPECT_EQ(record_.made, 2);
}

TEST_F(pool_test, after_a_failure_one_attempt_at_a_time_tells_all_who_wait) {
    constexpr int callers = 8;
    std::atomic<int> at_once = 0, most = 0;
    std::atomic<bool> is_refused = false;
    const auto refusing = [&](milliseconds) -> std::unique_ptr<connection> {
        if (!is_refused) return std::make_unique<idle_connection>(record_);
        most = std::max(most.load(), ++at_once);
        std::this_thread::yield();
        --at_once;
        ++attempts_;
        error_facts facts;
        facts.is_passing = true;
        throw error(errc::connection_failed, "no connection left", facts);
    };
    pool lends{refusing, settings(callers + 1, 1h)};
    auto lent = lends.take();
    is_refused = true;
    EXPECT_THROW(lends.connect_apart(1s), error);
    most = 0;
    {
        std::vector<thread> threads;
        for (int each = 0; each < callers; ++each) {
            threads.emplace_back([&] { lends.give_back(lends.take()); });
        }
        EXPECT_TRUE(eventually([&] { return attempts_ >= 6; }));
        is_refused = false;
    }
    EXPECT_EQ(most, 1);
    lends.give_back(std::move(lent));
}

}  // namespace
}  // namespace leasehold::testing
