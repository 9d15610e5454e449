// Threads carry each other's requests, on connections that do nothing.
#include "database/combiner.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <future>
#include <list>
#include <mutex>
#include <optional>
#include <stop_token>
#include <utility>
#include <vector>

#include "support/eventually.hpp"
#include "support/test_time.hpp"
#include "support/thread.hpp"
#include "unit/idle_connection.hpp"

namespace leasehold::testing {
namespace {

using namespace std::chrono_literals;

struct asked final : combiner::request {
    int answer = 0;
    bool is_left_open = false;
};

class combiner_test : public ::testing::Test {
protected:
    combiner_test() { tried_.overtake_after(5min); }

    static database_settings with_connections(int number) {
        database_settings made;
        made.max_connections = number;
        made.pool_timeout = 1h;
        return made;
    }

    // The work of one thread. Returns the number of requests that were carried with its own; 1 when
    // it was asked alone; 0 when it failed.
    int ask(const bounds& of_call = {}) {
        asked mine;
        tried_.carry(
            mine,
            of_call,
            [&](const bounds& until, const auto& use) {
                const lent connection{pool_, until};
                use(*connection.held, stores_);
            },
            [&](connection& on, store_set&, const combiner::requests& all) {
                ++together_;
                most_ = std::max(most_, all.size());
                if (on_several_) on_several_(on, all);
                for (auto* each : all) {
                    auto& one = static_cast<asked&>(*each);
                    const bool is_left_open = std::exchange(one.is_left_open, false);
                    if (!is_left_open) one.answer = static_cast<int>(all.size());
                }
            },
            [&](connection&, store_set&) {
                ++alone_;
                mine.answer = 1;
            },
            [&] { return mine.answer > 0; }
        );
        return mine.answer;
    }

    // Starts so many threads, which wait for the connection that the test has.
    void start(std::size_t number, const bounds& of_call = {}) {
        for (std::size_t each = 0; each < number; ++each) {
            const auto before = tried_.waiting();
            threads_.emplace_back([this, of_call] { note(of_call); });
            ASSERT_TRUE(eventually([&] { return tried_.waiting() == before + 1; }));
        }
    }
    void note(const bounds& of_call) {
        std::optional<error> failure;
        int answer = 0;
        try {
            answer = ask(of_call);
        } catch (const error& thrown) {
            failure = thrown;
        }
        const std::lock_guard guard{mutex_};
        answers_.push_back(answer);
        if (failure) failures_.push_back(*failure);
    }
    // All there are but for one, or all; and then that one again.
    void take_all_but_one() { spare_ = pool_.take(); }
    void take() {
        take_all_but_one();
        held_ = pool_.take();
    }
    void give_back() { pool_.give_back(std::move(held_)); }
    void give_back_spare() { pool_.give_back(std::move(spare_)); }

    struct lent {
        lent(pool& of, const bounds& until) : from(of), held(of.take(until)) {}
        ~lent() { from.give_back(std::move(held)); }
        lent(const lent&) = delete;
        lent& operator=(const lent&) = delete;
        pool& from;
        std::unique_ptr<connection> held;
    };

    const test_time time_;
    record record_;
    std::atomic<bool> fails_ = false;
    std::atomic<bool> is_slow_ = false;
    std::future<void> opening_;
    pool pool_{
        [this](milliseconds) {
            if (is_slow_) opening_.wait();
            if (fails_) throw error(errc::connection_failed, "refused");
            return std::make_unique<idle_connection>(record_);
        },
        with_connections(2)};
    combiner tried_{pool_};
    store_set stores_;
    std::unique_ptr<connection> spare_;
    std::unique_ptr<connection> held_;
    std::function<void(connection&, const combiner::requests&)> on_several_;
    std::atomic<int> together_ = 0;
    std::atomic<int> alone_ = 0;
    std::size_t most_ = 0;
    std::mutex mutex_;
    std::vector<int> answers_;
    std::vector<error> failures_;
    std::list<thread> threads_;
};

TEST_F(combiner_test, who_finds_a_connection_asks_alone) {
    EXPECT_EQ(ask(), 1);
    EXPECT_EQ(ask(), 1);
    EXPECT_EQ(together_, 0);
}

TEST_F(combiner_test, those_that_wait_for_a_connection_travel_together) {
    take();
    start(5);
    give_back();
    threads_.clear();
    EXPECT_EQ(answers_, std::vector<int>(5, 5));
    EXPECT_EQ(together_, 1);
    EXPECT_EQ(alone_, 0);
    EXPECT_EQ(ask(), 1) << "and nothing is left of it";
}

TEST_F(combiner_test, who_comes_while_others_are_carried_has_a_leader) {
    take();
    start(2);
    std::promise<void> under_way, others_wait;
    on_several_ = [&](connection&, const combiner::requests& all) {
        if (all.size() != 2) return;
        under_way.set_value();
        others_wait.get_future().wait();
    };
    give_back();
    under_way.get_future().wait();
    start(3);
    others_wait.set_value();
    threads_.clear();
    std::sort(answers_.begin(), answers_.end());
    EXPECT_EQ(answers_, (std::vector<int>{2, 2, 3, 3, 3}));
}

// The others use the connection that is free, when the statement under way does not come back.
TEST_F(combiner_test, one_statement_that_hangs_keeps_nobody) {
    take();
    start(2);
    std::promise<void> under_way, answers;
    bool is_first = true;
    on_several_ = [&](connection&, const combiner::requests&) {
        if (!std::exchange(is_first, false)) return;
        under_way.set_value();
        answers.get_future().wait();
    };
    give_back();
    under_way.get_future().wait();
    start(3);
    give_back_spare();
    test_time::advance(5min);
    EXPECT_TRUE(eventually([&] {
        const std::lock_guard guard{mutex_};
        return answers_.size() == 3;
    }));
    EXPECT_EQ(failures_.size(), 0U);
    answers.set_value();
    threads_.clear();  // they use what stands here
}

// A free connection serves the others meanwhile.
TEST_F(combiner_test, a_connection_that_does_not_open_keeps_nobody) {
    take_all_but_one();
    std::promise<void> opens;
    opening_ = opens.get_future();
    is_slow_ = true;
    start(1);
    start(2);
    give_back_spare();
    test_time::advance(5min);
    EXPECT_TRUE(eventually([&] {
        const std::lock_guard guard{mutex_};
        return answers_.size() == 2;
    }));
    EXPECT_EQ(failures_.size(), 0U);
    opens.set_value();
    threads_.clear();
    EXPECT_EQ(answers_.size(), 3U);
}

TEST_F(combiner_test, what_the_statement_for_all_leaves_open_is_asked_alone) {
    take();
    start(4);
    on_several_ = [](connection&, const combiner::requests& all) {
        static_cast<asked&>(*all[0]).is_left_open = true;  // the one that leads
        static_cast<asked&>(*all[2]).is_left_open = true;
    };
    give_back();
    threads_.clear();
    std::sort(answers_.begin(), answers_.end());
    EXPECT_EQ(answers_, (std::vector<int>{1, 1, 4, 4}));
    EXPECT_EQ(alone_, 2);
}

TEST_F(combiner_test, one_statement_has_a_bound) {
    take();
    start(combiner::max_requests + 3);
    give_back();
    threads_.clear();
    EXPECT_EQ(answers_.size(), combiner::max_requests + 3);
    EXPECT_EQ(together_, 2);
    EXPECT_EQ(most_, combiner::max_requests);
}

TEST_F(combiner_test, one_that_is_stopped_while_it_waits_leaves_the_others) {
    take();
    std::stop_source leader, follower;
    start(1, {.cancel = leader.get_token()});
    start(1);
    start(1, {.cancel = follower.get_token()});
    start(1);
    follower.request_stop();
    EXPECT_TRUE(eventually([&] { return tried_.waiting() == 3; }));
    leader.request_stop();
    EXPECT_TRUE(eventually([&] { return tried_.waiting() == 2; }));
    give_back();
    threads_.clear();
    std::sort(answers_.begin(), answers_.end());
    EXPECT_EQ(answers_, (std::vector<int>{0, 0, 2, 2}));
    ASSERT_EQ(failures_.size(), 2U);
    EXPECT_EQ(failures_[0].code(), errc::timed_out);
    EXPECT_FALSE(failures_[0].outcome_is_unknown());
}

TEST_F(combiner_test, time_is_up_for_each_by_itself) {
    take();
    start(1);
    start(1, {.deadline = local_clock::now() + 5s});
    test_time::advance(6s);
    EXPECT_TRUE(eventually([&] { return tried_.waiting() == 1; }));
    give_back();
    threads_.clear();
    ASSERT_EQ(failures_.size(), 1U);
    EXPECT_NE(
        std::string(failures_[0].what()).find("all 2 connections were busy"), std::string::npos
    );
}

TEST_F(combiner_test, a_stop_is_not_heeded_once_the_request_may_have_been_sent) {
    take();
    std::stop_source stop;
    start(1);
    start(1, {.cancel = stop.get_token()});
    on_several_ = [&](connection&, const combiner::requests&) {
        stop.request_stop();
        test_time::advance(1s);
    };
    give_back();
    threads_.clear();
    EXPECT_EQ(answers_, std::vector<int>(2, 2));
}

TEST_F(combiner_test, an_unknown_outcome_is_that_of_all) {
    take();
    start(3);
    on_several_ = [](connection&, const combiner::requests&) {
        error_facts facts;
        facts.outcome_unknown = true;
        throw error(errc::connection_lost, "cut off", facts);
    };
    give_back();
    threads_.clear();
    ASSERT_EQ(failures_.size(), 3U);
    for (const error& each : failures_) EXPECT_TRUE(each.outcome_is_unknown());
    EXPECT_EQ(alone_, 0);
}

TEST_F(combiner_test, a_failure_of_the_library_itself_leaves_the_outcome_unknown) {
    take();
    start(3);
    on_several_ = [](connection&, const combiner::requests&) { throw std::bad_alloc{}; };
    give_back();
    threads_.clear();
    ASSERT_EQ(failures_.size(), 3U);
    for (const error& each : failures_) EXPECT_TRUE(each.outcome_is_unknown());
}

// The server may refuse the request of one of them.
TEST_F(combiner_test, after_a_failure_that_did_nothing_each_asks_alone) {
    take();
    start(3);
    on_several_ = [](connection&, const combiner::requests&) {
        throw error(errc::database_error, "refused");
    };
    give_back();
    threads_.clear();
    EXPECT_EQ(answers_, std::vector<int>(3, 1));
    EXPECT_EQ(alone_, 3);
}

TEST_F(combiner_test, where_no_connection_opens_each_is_told_by_itself) {
    take();
    start(3);
    static_cast<idle_connection&>(*held_).now = connection_state::lost;
    fails_ = true;
    give_back();
    threads_.clear();
    ASSERT_EQ(failures_.size(), 3U);
    EXPECT_EQ(failures_[0].code(), errc::connection_failed);
    EXPECT_EQ(tried_.waiting(), 0U);
}

TEST_F(combiner_test, either_way_can_be_forced) {
    tried_.suppose(combiner::way::always);
    EXPECT_EQ(ask(), 1);
    EXPECT_EQ(together_, 1);
    EXPECT_EQ(alone_, 0);
    tried_.suppose(combiner::way::never);
    take();
    start(3);
    give_back();
    threads_.clear();
    EXPECT_EQ(together_, 1);
    EXPECT_EQ(alone_, 3);
}

}  // namespace
}  // namespace leasehold::testing
