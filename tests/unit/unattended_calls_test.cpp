// The threads that go on with calls that nobody waits in: their turns, the fate of a call for which
// none is free, and that no two go on with one call.
#include "database/unattended_calls.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <latch>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "support/eventually.hpp"

namespace leasehold::testing {
namespace {

using namespace std::chrono_literals;
using time_point = local_clock::time_point;

// A call whose steps are given; it is over when a step says so.
class made_call final : public unattended_call {
public:
    using step = std::function<std::optional<time_point>(int number)>;
    made_call(step what, std::chrono::nanoseconds timeout, const void* owner = nullptr)
        : what_(std::move(what)), timeout_(timeout), owner_(owner) {}

    const void* owner() const noexcept override { return owner_; }
    std::optional<time_point> go_on() noexcept override {
        if (is_under_way_.exchange(true)) ADD_FAILURE() << "two threads go on with it";
        const auto next = what_(++steps_);
        is_under_way_ = false;
        return next;
    }
    time_point give_up_at() const noexcept override { return local_clock::now() + timeout_; }
    void give_up() noexcept override { ++given_up_; }

    int steps() const { return steps_; }
    int given_up() const { return given_up_; }

private:
    const step what_;
    const std::chrono::nanoseconds timeout_;
    const void* const owner_;
    std::atomic<int> steps_ = 0, given_up_ = 0;
    std::atomic<bool> is_under_way_ = false;
};

std::shared_ptr<made_call> made(
    made_call::step what, std::chrono::nanoseconds timeout = 1h, const void* owner = nullptr
) {
    return std::make_shared<made_call>(std::move(what), timeout, owner);
}

// Like a statement that gets no answer before open().
class hanging {
public:
    made_call::step step() {
        return [this](int) {
            ++inside_;
            gate_.wait();
            return std::nullopt;
        };
    }
    bool has(int number) const {
        return eventually([&] { return inside_ == number; });
    }
    void open() { gate_.count_down(); }

private:
    std::atomic<int> inside_ = 0;
    std::latch gate_{1};
};

TEST(unattended_calls, what_no_thread_is_free_for_is_given_up_in_its_time_though_all_hang) {
    hanging server;
    unattended_calls calls{8};
    for (int each = 0; each < unattended_calls::max_workers; ++each) calls.add(made(server.step()));
    EXPECT_TRUE(server.has(unattended_calls::max_workers));
    const auto late = made([](int) { return std::nullopt; }, 20ms);
    calls.add(late);
    EXPECT_TRUE(eventually([&] { return late->given_up() == 1; }));
    EXPECT_EQ(late->steps(), 0);
    EXPECT_EQ(calls.threads(), unattended_calls::max_workers + 2);
    server.open();
    calls.await_none(nullptr, time_point::max());
    EXPECT_EQ(late->given_up(), 1);
}

TEST(unattended_calls, there_are_no_more_workers_than_connections) {
    hanging server;
    unattended_calls calls{1};
    const auto second = made([](int) { return std::nullopt; });
    calls.add(made(server.step()));
    calls.add(second);
    EXPECT_TRUE(server.has(1));
    EXPECT_EQ(calls.threads(), 1 + 2);
    EXPECT_EQ(second->steps(), 0);
    server.open();
    calls.await_none(nullptr, time_point::max());
    EXPECT_EQ(second->steps(), 1);
}

TEST(unattended_calls, one_goes_on_when_its_time_has_come_and_when_it_is_woken) {
    unattended_calls calls{8};
    const auto by_time = made([](int number) {
        return number < 3 ? std::optional{local_clock::now() + 5ms} : std::nullopt;
    });
    const auto by_call = made([](int number) {
        return number < 2 ? std::optional{time_point::max()} : std::nullopt;
    });
    calls.add(by_time);
    calls.add(by_call);
    EXPECT_TRUE(eventually([&] { return by_time->steps() == 3; }));
    EXPECT_TRUE(eventually([&] { return by_call->steps() == 1; }));
    calls.wake(*by_call);
    EXPECT_TRUE(eventually([&] { return calls.size() == 0; }));
    EXPECT_EQ(by_call->steps(), 2);
    calls.wake(*by_call);  // it is not here any more
    EXPECT_EQ(by_call->steps(), 2);
}

TEST(unattended_calls, one_that_is_woken_while_it_is_under_way_goes_on_once_more) {
    unattended_calls calls{8};
    std::latch is_inside{1}, may_go_on{1};
    const auto call = made([&](int number) -> std::optional<time_point> {
        if (number > 1) return std::nullopt;
        is_inside.count_down();
        may_go_on.wait();
        return time_point::max();
    });
    calls.add(call);
    is_inside.wait();
    calls.wake(*call);
    may_go_on.count_down();
    EXPECT_TRUE(eventually([&] { return calls.size() == 0; }));
    EXPECT_EQ(call->steps(), 2);
}

TEST(unattended_calls, one_that_has_waited_goes_before_those_that_begin) {
    hanging server;
    unattended_calls calls{1};
    std::mutex mutex;
    std::vector<std::string> order;
    const auto note = [&](const char* what) {
        const std::lock_guard guard{mutex};
        order.emplace_back(what);
    };
    const auto has_waited = made([&](int number) -> std::optional<time_point> {
        if (number == 1) return time_point::max();
        note("had waited");
        return std::nullopt;
    });
    calls.add(has_waited);
    EXPECT_TRUE(eventually([&] { return has_waited->steps() == 1; }));
    calls.add(made(server.step()));
    EXPECT_TRUE(server.has(1));
    calls.add(made([&](int) {
        note("begins");
        return std::nullopt;
    }));
    calls.wake(*has_waited);
    server.open();
    calls.await_none(nullptr, time_point::max());
    EXPECT_EQ(order, (std::vector<std::string>{"had waited", "begins"}));
}

TEST(unattended_calls, whoever_waits_for_the_end_of_his_calls_waits_no_longer_than_he_wants) {
    hanging server;
    unattended_calls calls{8};
    const int mine = 0, anothers = 0;
    calls.add(made(server.step(), 1h, &anothers));
    EXPECT_TRUE(server.has(1));
    calls.await_none(&mine, time_point::max());
    calls.await_none(&anothers, local_clock::now() + 20ms);
    EXPECT_EQ(calls.size(), 1U);
    const auto from_inside = made(
        [&](int) {
            calls.await_none(&mine, time_point::max());  // for itself
            return std::nullopt;
        },
        1h,
        &mine
    );
    calls.add(from_inside);
    calls.await_none(&mine, time_point::max());
    EXPECT_EQ(from_inside->steps(), 1);
    server.open();
}

TEST(unattended_calls, completions_run_in_their_order_and_all_before_the_end) {
    std::vector<int> order;
    {
        unattended_calls calls{8};
        calls.add(made([](int) { return std::nullopt; }));
        for (int each = 0; each < 100; ++each) {
            calls.complete([&order, each] { order.push_back(each); });
        }
    }
    ASSERT_EQ(order.size(), 100U);
    EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

}  // namespace
}  // namespace leasehold::testing
