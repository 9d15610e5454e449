// Calls that wait for a mutex without a thread: each is answered once, with a lease, with nothing
// or with an error, whatever comes between.
#include <algorithm>
#include <atomic>
#include <deque>
#include <fstream>
#include <functional>
#include <iostream>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include "conformance/queue_suite.hpp"
#include "core/timed_wait.hpp"
#include "database/unattended_calls.hpp"
#include "leasehold/await.hpp"
#include "leasehold/leader_election.hpp"
#include "support/answers.hpp"
#include "support/granted.hpp"
#include "support/required.hpp"
#include "support/thread.hpp"

namespace leasehold::testing {
namespace {

// The number of threads in /proc/self/status.
int threads_of_this_process() {
    std::ifstream status{"/proc/self/status"};
    std::string word;
    while (status >> word) {
        if (word != "Threads:") continue;
        int number = 0;
        status >> number;
        return number;
    }
    return 0;
}

// Works off what is posted, on one thread.
class event_loop {
public:
    post_function post() {
        return [this](std::function<void()> work) {
            {
                const std::lock_guard guard{mutex_};
                posted_.push_back(std::move(work));
            }
            changed_.notify_one();
        };
    }
    // Until `is_done`; false when `timeout` ran out first.
    template <class Done>
    bool run(Done&& is_done, std::chrono::milliseconds timeout = 60s) {
        const auto until = local_clock::now() + timeout;
        std::unique_lock guard{mutex_};
        while (!is_done()) {
            if (!wait_until(guard, changed_, {}, until, [&] { return !posted_.empty(); })) {
                return false;
            }
            auto next = std::move(posted_.front());
            posted_.pop_front();
            guard.unlock();
            next();
            guard.lock();
        }
        return true;
    }

private:
    std::mutex mutex_;
    std::condition_variable_any changed_;
    std::deque<std::function<void()>> posted_;
};

class waiting_unattended : public queue_suite {
protected:
    static std::size_t calls_at(const database& which) {
        return which.inner()->unattended().size();
    }
};

TEST_F(waiting_unattended, a_free_key_is_had_and_what_is_had_is_released_with_the_acquisition) {
    session one{first_, calm("one")};
    const key name = fresh("k");
    mutex wanted{one, name};
    const answer told;
    wanted.acquire_async({}, told.taker());
    {
        auto got = told.get();
        ASSERT_TRUE(got);
        EXPECT_TRUE(got->verify());
        EXPECT_FALSE(is_granted(mutex(one, name).try_acquire()));
    }
    EXPECT_TRUE(mutex(one, name).try_acquire());
    EXPECT_EQ(told.times(), 1);
}

TEST_F(waiting_unattended, one_that_waits_is_handed_the_key_by_a_release) {
    session one{first_, calm("one")}, two{second_, calm("two")};
    const key name = fresh("k");
    auto held = mutex{one, name}.try_acquire();
    const auto before = held->token();
    const answer told;
    mutex{two, name, keen()}.acquire_async({}, told.taker());  // the mutex goes, the call stays
    ASSERT_TRUE(has_waiters(name, 1));
    EXPECT_EQ(told.times(), 0);
    held->release();
    auto got = told.get();
    ASSERT_TRUE(got);
    EXPECT_GT(got->token().number, before.number);
    EXPECT_TRUE(got->verify());
    EXPECT_EQ(waiters_of(name), 0);
    EXPECT_EQ(told.times(), 1);
}

// Only the hint of its own handle tells it.
TEST_F(waiting_unattended, it_is_told_by_a_release_of_its_own_handle_without_a_look) {
    if (!has_hints()) GTEST_SKIP() << "it would never look";
    session one{first_, calm("one")};
    const key name = fresh("k");
    auto held = mutex{one, name}.try_acquire();
    const answer told;
    mutex{one, name, deaf()}.acquire_async({}, told.taker());
    ASSERT_TRUE(has_waiters(name, 1));
    held->release();
    EXPECT_TRUE(told.get());
}

TEST_F(waiting_unattended, when_its_time_is_over_it_says_who_has_the_key_and_leaves_the_queue) {
    session one{first_, calm("one")}, two{second_, calm("two")};
    const key name = fresh("k");
    auto held = mutex{one, name}.try_acquire();
    for (const auto timeout : {0ms, 2000ms}) {
        const answer told;
        mutex{two, name, keen()}.acquire_async({.timeout = timeout}, told.taker());
        auto got = told.get();
        EXPECT_FALSE(got);
        ASSERT_TRUE(got.holder());
        EXPECT_EQ(got.holder()->token, held->token());
        EXPECT_EQ(waiters_of(name), 0);
        EXPECT_EQ(told.times(), 1);
    }
}

TEST_F(waiting_unattended, a_stop_requested_before_is_answered_and_the_database_not_asked) {
    const auto way = std::make_shared<gate>();
    const database db = current().open_through(way);
    session one{db, calm("one")};
    const key name = fresh("k");
    mutex wanted{one, name};
    std::stop_source stop;
    stop.request_stop();
    const int before = way->passed();
    const answer told;
    wanted.acquire_async({.cancel = stop.get_token()}, told.taker());
    EXPECT_FALSE(is_granted(told.get()));
    EXPECT_EQ(way->passed(), before);
}

TEST_F(waiting_unattended, a_stop_requested_meanwhile_ends_it_and_it_leaves_the_queue) {
    session one{first_, calm("one")}, two{second_, calm("two")};
    const key name = fresh("k");
    auto held = mutex{one, name}.try_acquire();
    std::stop_source stop;
    const answer told;
    mutex{two, name, deaf()}.acquire_async({.cancel = stop.get_token()}, told.taker());
    ASSERT_TRUE(has_waiters(name, 1));
    stop.request_stop();
    EXPECT_FALSE(is_granted(told.get()));
    EXPECT_EQ(waiters_of(name), 0);
    EXPECT_EQ(told.times(), 1);
}

TEST_F(waiting_unattended, one_whose_session_is_lost_is_told_so_and_has_nothing) {
    session one{first_, calm("one")}, two{second_, alert("two")};
    const key name = fresh("k");
    auto held = mutex{one, name}.try_acquire();
    const answer told;
    mutex{two, name, keen()}.acquire_async({}, told.taker());
    ASSERT_TRUE(has_waiters(name, 1));
    expire(two);
    const auto failure = thrown_by([&] { (void)told.get(); });
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->code(), errc::session_lost) << failure->what();
    held->release();
    EXPECT_TRUE(mutex(one, name).try_acquire());
    EXPECT_EQ(told.times(), 1);
}

// When end() returns nothing of it goes on: so a program can end, too.
TEST_F(waiting_unattended, the_end_of_a_session_ends_its_calls_and_waits_for_that) {
    session one{first_, calm("one")};
    std::optional<session> two{std::in_place, second_, calm("two")};
    std::vector<key> names;
    std::vector<acquisition> held;
    std::vector<answer> told(20);
    for (const answer& each : told) {
        names.emplace_back(fresh("k"));
        held.push_back(mutex{one, names.back()}.try_acquire());
        mutex{*two, names.back(), deaf()}.acquire_async({}, each.taker());
    }
    for (const key& each : names) ASSERT_TRUE(has_waiters(each, 1));
    two.reset();
    EXPECT_EQ(calls_at(second_), 0U);
    for (const key& each : names) EXPECT_EQ(waiters_of(each), 0);
    for (const answer& each : told) {
        const auto failure = thrown_by([&] { (void)each.get(); });
        ASSERT_TRUE(failure);
        EXPECT_EQ(failure->code(), errc::session_lost) << failure->what();
        EXPECT_EQ(each.times(), 1);
    }
}

TEST_F(waiting_unattended, one_in_a_session_that_has_ended_is_told_so) {
    session one{first_, calm("one")};
    mutex wanted{one, fresh("k")};
    one.end();
    const answer told;
    wanted.acquire_async({}, told.taker());
    const auto failure = thrown_by([&] { (void)told.get(); });
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->code(), errc::session_lost) << failure->what();
}

TEST_F(
    waiting_unattended, a_call_keeps_its_handle_and_its_completion_may_give_up_all_that_there_is
) {
    const key name = fresh("k");
    session one{first_, calm("one")};
    auto held = mutex{one, name}.try_acquire();
    struct everything {
        explicit everything(const key& wanted) : lock(within, wanted, keen()) {}
        session within{open(), calm("all of it")};
        mutex lock;
    };
    for (const bool is_posted : {false, true}) {
        auto all = std::make_shared<everything>(name);
        auto& lock = all->lock;
        std::atomic<int> times = 0;
        async_wait how{.timeout = is_posted ? 100ms : 50ms};
        if (is_posted) how.post = [](const std::function<void()>& work) { work(); };
        lock.acquire_async(
            std::move(how),
            [all = std::move(all), &times](const std::exception_ptr&, const acquisition&) mutable {
                all.reset();
                ++times;
            }
        );
        EXPECT_TRUE(eventually([&] { return times == 1; }));
        EXPECT_TRUE(has_waiters(name, 0));
    }
}

TEST_F(waiting_unattended, what_is_posted_runs_where_it_was_posted_to) {
    session one{first_, calm("one")};
    EXPECT_TRUE(thrown_by([&] { mutex{one, fresh("k")}.acquire_async({}, nullptr); }));
    event_loop loop;
    const answer told;
    mutex{one, fresh("k")}.acquire_async({.post = loop.post()}, told.taker());
    EXPECT_TRUE(loop.run([&] { return told.times() == 1; }));
    EXPECT_EQ(told.by(), std::this_thread::get_id());
}

TEST_F(waiting_unattended, a_campaign_is_won_in_turn_or_told_who_leads) {
    const key name = fresh("office");
    session one{first_, calm("one")};
    session two{second_, calm("two")};
    auto leading = leader_election{one, name}.try_campaign();
    std::atomic<int> elected = 0, answers = 0;
    leader_election other{two, name, {.on_elected = [&](fencing_token) { ++elected; }}};
    std::optional<campaign_result> outcome;
    std::exception_ptr failed;
    const auto take = [&](std::exception_ptr failure, campaign_result got) {
        failed = std::move(failure);
        outcome.emplace(std::move(got));
        ++answers;
    };
    other.campaign_async({.timeout = 2s}, take);  // a thread may have to wait for the processor
    ASSERT_TRUE(eventually([&] { return answers == 1; }));
    EXPECT_FALSE(failed);
    EXPECT_FALSE(outcome->has_value());

    other.campaign_async({}, take);
    EXPECT_TRUE(has_waiters(name, 1));
    EXPECT_EQ(elected, 0);
    const auto before = leading->token();
    leading->resign();
    ASSERT_TRUE(eventually([&] { return answers == 2; }));
    EXPECT_FALSE(failed);
    ASSERT_TRUE(outcome->has_value());
    EXPECT_EQ(elected, 1);
    EXPECT_GT((*outcome)->token(), before);
    outcome.reset();

    const auto nobody = thrown_by([&] { other.campaign_async({}, nullptr); });
    ASSERT_TRUE(nobody);
    EXPECT_EQ(nobody->code(), errc::invalid_argument) << nobody->what();
    two.end();
    other.campaign_async({}, take);
    ASSERT_TRUE(eventually([&] { return answers == 3; }));
    const auto failure = thrown_by([&] { std::rethrow_exception(failed); });
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->code(), errc::session_lost) << failure->what();
    EXPECT_FALSE(outcome->has_value());
}

// ------------------------------------------------------------------------------------ coroutines

struct detached_task {
    struct promise_type {
        detached_task get_return_object() noexcept { return {}; }
        std::suspend_never initial_suspend() noexcept { return {}; }
        std::suspend_never final_suspend() noexcept { return {}; }
        void return_void() noexcept {}
        void unhandled_exception() noexcept { ADD_FAILURE() << "an exception left a coroutine"; }
    };
};

// The result of a coroutine, when it is done.
struct finding {
    int tokens = 0;
    int empty = 0;
    std::optional<errc> failure;
    std::atomic<bool> is_done = false;
};

detached_task take_in_turn(session& within, key name, post_function post, finding& found) {
    mutex wanted{within, std::move(name)};
    try {
        const async_wait for_ever{.post = post}, briefly{.timeout = 2s, .post = post};
        for (int round = 0; round < 3; ++round) {
            acquisition got = co_await acquire(wanted, for_ever);
            if (got) ++found.tokens;
            acquisition refused = co_await acquire(wanted, briefly);
            if (!refused) ++found.empty;
        }
        within.end();
        acquisition none = co_await acquire(wanted, for_ever);
    } catch (const error& failure) {
        found.failure = failure.code();
    }
    found.is_done = true;
}

TEST_F(waiting_unattended, a_coroutine_gets_leases_nothing_and_exceptions) {
    for (const bool has_loop : {true, false}) {
        session one{first_, calm("one")};
        event_loop loop;
        finding found;
        take_in_turn(one, fresh("k"), has_loop ? loop.post() : post_function{}, found);
        const auto is_done = [&] { return found.is_done.load(); };
        EXPECT_TRUE(has_loop ? loop.run(is_done) : eventually(is_done));
        EXPECT_EQ(found.tokens, 3);
        EXPECT_EQ(found.empty, 3);
        EXPECT_EQ(found.failure, errc::session_lost);
    }
}

// ----------------------------------------------------------------------------------- what it costs

// Counts statements from the call to its lease. The questions that the thread of the wait registry
// asks in its own time come on top, or do not: so the median of some.
TEST_F(waiting_unattended, one_costs_the_database_what_a_call_on_a_thread_costs) {
    if (!has_hints()) GTEST_SKIP() << "looks are counted by the clock";
    const auto usual_cost = [&](bool is_unattended) {
        const auto way = std::make_shared<gate>();
        const database db = current().open_through(way);
        session one{db, calm("one")};
        std::vector<int> costs;
        for (int round = 0; round < 41; ++round) {
            const key name = fresh("k");
            auto held = mutex{one, name}.try_acquire();
            mutex wanted{one, name, deaf()};
            const int before = way->passed();
            const answer told;
            thread waiting;
            if (is_unattended) {
                wanted.acquire_async({}, told.taker());
            } else {
                waiting = thread{[&] { told.taker()(nullptr, wanted.acquire()); }};
            }
            EXPECT_TRUE(eventually([&] { return db.inner()->waits().queued() == 1; }));
            held->release();
            auto got = told.get();
            EXPECT_TRUE(got);
            costs.push_back(way->passed() - before);
        }
        std::nth_element(costs.begin(), costs.begin() + 20, costs.end());
        return costs[20];
    };
    const int attended = usual_cost(false);
    EXPECT_GT(attended, 0);
    EXPECT_LE(usual_cost(true), attended);
}

// No thread each, and no statement each while nothing happens.
TEST_F(waiting_unattended, a_thousand_wait_on_a_handful_of_threads_and_each_has_its_turn) {
    constexpr int calls = 1000, keys = 50;
    const auto way = std::make_shared<gate>();
    const database far = current().open_through(way);
    session one{first_, calm("one")}, two{far, calm("two")};
    std::vector<mutex> locks;
    std::vector<acquisition> held;
    for (int each = 0; each < keys; ++each) {
        const key name = fresh("k");
        held.push_back(mutex{one, name}.try_acquire());
        locks.emplace_back(two, name, keen());
    }
    std::atomic<int> granted = 0, answered = 0;
    EXPECT_TRUE(mutex(two, fresh("first")).try_acquire())
        << "the session has begun, with its threads";
    const int before = threads_of_this_process();
    ASSERT_GT(before, 0);
    for (int each = 0; each < calls; ++each) {
        locks[static_cast<std::size_t>(each % keys)].acquire_async(
            {},
            [&](const std::exception_ptr& failure, acquisition got) {
                if (got && !failure) ++granted;
                got = acquisition{std::nullopt, key{"released"}};
                ++answered;
            }
        );
    }
    auto& room = far.inner()->waits();
    ASSERT_TRUE(eventually([&] { return room.queued() == calls; }, 120s)) << room.queued();
    constexpr int max_threads = unattended_calls::max_workers + 2 + 1;  // and the room's
    EXPECT_LE(threads_of_this_process(), before + max_threads);
    EXPECT_LE(far.inner()->unattended().threads(), max_threads - 1);
    // A look is for all of them.
    const int looks = room.looks(), asked = way->passed();
    ASSERT_TRUE(eventually([&] { return room.looks() >= looks + 5; }));
    EXPECT_LT(way->passed() - asked, 5 * (room.looks() - looks + 1));
    EXPECT_EQ(answered, 0);
    held.clear();
    EXPECT_TRUE(eventually([&] { return answered == calls; }, 240s)) << answered;
    EXPECT_EQ(granted, calls);
    EXPECT_TRUE(eventually([&] { return calls_at(far) == 0; }));
}

// ------------------------------------------------------------------------------------------ chance

TEST_F(waiting_unattended, however_they_are_cancelled_each_is_answered_once_and_no_key_is_lost) {
    constexpr int calls = 200, keys = 4;
    session one{first_, calm("one")}, two{second_, calm("two")};
    const unsigned long from = seed();
    std::mt19937_64 random{from}, later{from + 1};
    std::vector<key> names;
    std::vector<mutex> locks;
    std::vector<std::atomic<int>> holders(keys);
    for (int each = 0; each < keys; ++each) {
        names.emplace_back(fresh("k"));
        locks.emplace_back(two, names.back(), keen());
    }
    std::vector<std::stop_source> stops(calls);
    std::vector<std::atomic<int>> times(calls);
    std::atomic<int> answered = 0, granted = 0, wrong = 0;
    for (std::size_t each = 0; each < calls; ++each) {
        const std::size_t at = random() % keys;
        async_wait how{.cancel = stops[each].get_token()};
        const bool is_hasty = random() % 8 == 0;
        if (is_hasty) how.timeout = std::chrono::milliseconds{random() % 50};
        if (random() % 16 == 0) stops[each].request_stop();
        locks[at].acquire_async(
            std::move(how),
            [&, each, at, is_hasty](const std::exception_ptr& failure, acquisition got) {
                ++times[each];
                // On a busy machine no thread may be free to ask for it in that time.
                const auto why = thrown_by([&] {
                    if (failure) std::rethrow_exception(failure);
                });
                if (why && !(is_hasty && why->code() == errc::timed_out)) ++wrong;
                if (got) {
                    ++granted;
                    if (++holders[at] != 1) ++wrong;
                    --holders[at];
                    got->release();
                }
                stops[later() % calls].request_stop();  // of whatever it may be about just now
                ++answered;
            }
        );
        if (random() % 4 == 0) stops[random() % (each + 1)].request_stop();
    }
    EXPECT_TRUE(eventually([&] { return answered == calls; }, 120s)) << "seed " << from;
    EXPECT_EQ(wrong, 0) << "seed " << from;
    for (std::size_t each = 0; each < calls; ++each) {
        EXPECT_EQ(times[each], 1) << "call " << each << ", seed " << from;
    }
    for (const key& each : names) {
        EXPECT_TRUE(mutex(one, each).acquire_for(20s)) << "seed " << from;
        EXPECT_EQ(waiters_of(each), 0) << "seed " << from;
    }
    std::cout << granted << " of " << calls << " were granted\n";
}

}  // namespace
}  // namespace leasehold::testing
