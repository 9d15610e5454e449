// Writers of one process wait for each other in the order in which they came.
#include "driver/sqlite_writer_queue.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <thread>
#include <vector>

#include "support/eventually.hpp"

namespace leasehold::sqlite {
namespace {

using namespace std::chrono_literals;

local_clock::time_point in(std::chrono::milliseconds time) {
    return local_clock::now() + time;
}

TEST(sqlite_writer_queue, who_came_first_writes_first) {
    writer_queue queue;
    ASSERT_TRUE(queue.enter(in(0ms)));
    std::vector<int> order;
    std::vector<std::jthread> writers;
    for (int number = 0; number < 8; ++number) {
        const auto before = queue.size();
        writers.emplace_back([&, number] {
            ASSERT_TRUE(queue.enter(in(60s)));
            order.push_back(number);  // guarded by the queue itself
            queue.leave();
        });
        ASSERT_TRUE(testing::eventually([&] { return queue.size() == before + 1; }));
    }
    queue.leave();
    writers.clear();
    EXPECT_EQ(order, (std::vector{0, 1, 2, 3, 4, 5, 6, 7}));
    EXPECT_EQ(queue.size(), 0U);
}

TEST(sqlite_writer_queue, who_does_not_wait_is_not_in_it) {
    writer_queue queue;
    ASSERT_TRUE(queue.enter(in(0ms)));
    EXPECT_FALSE(queue.enter(in(0ms)));
    EXPECT_FALSE(queue.enter(in(20ms)));
    EXPECT_EQ(queue.size(), 1U);
    auto next = std::async(std::launch::async, [&] { return queue.enter(in(60s)); });
    ASSERT_TRUE(testing::eventually([&] { return queue.size() == 2; }));
    queue.leave();
    EXPECT_TRUE(next.get());
    queue.leave();
    EXPECT_EQ(queue.size(), 0U);
}

TEST(sqlite_writer_queue, a_place_is_left_once) {
    const auto queue = std::make_shared<writer_queue>();
    {
        writer_place first{queue}, second{queue};
        first.enter(in(0ms));
        first.enter(in(0ms));
        EXPECT_EQ(queue->size(), 1U);
        second.enter(in(0ms));  // not its turn
        second.leave();
        EXPECT_EQ(queue->size(), 1U);
        first.leave();
        first.leave();
        EXPECT_EQ(queue->size(), 0U);
        second.enter(in(0ms));
        EXPECT_EQ(queue->size(), 1U);
    }
    EXPECT_EQ(queue->size(), 0U);
    writer_place borrowed{nullptr};
    borrowed.enter(in(0ms));
}

}  // namespace
}  // namespace leasehold::sqlite
