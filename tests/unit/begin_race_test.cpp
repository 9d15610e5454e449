// Sessions that begin with their first grant and end with their last release: other threads, calls
// that are given up, and a beginning that fails half-way.
#include <pthread.h>

#include <atomic>
#include <functional>
#include <latch>
#include <new>
#include <string>
#include <system_error>
#include <vector>

#include "leasehold/semaphore.hpp"
#include "locks/lease.hpp"
#include "session/session.hpp"
#include "support/granted.hpp"
#include "support/thread.hpp"
#include "unit/model_fixture.hpp"

namespace leasehold::testing {
namespace {

// No thread can be started while it lives: there is no room for its stack.
class no_more_threads {
public:
    no_more_threads() {
        pthread_attr_t huge;
        EXPECT_EQ(pthread_getattr_default_np(&usual_), 0);
        EXPECT_EQ(pthread_attr_init(&huge), 0);
        EXPECT_EQ(pthread_attr_setstacksize(&huge, std::size_t{1} << 52U), 0);
        EXPECT_EQ(pthread_setattr_default_np(&huge), 0);
        pthread_attr_destroy(&huge);
    }
    ~no_more_threads() {
        EXPECT_EQ(pthread_setattr_default_np(&usual_), 0);
        pthread_attr_destroy(&usual_);
    }
    no_more_threads(const no_more_threads&) = delete;
    no_more_threads& operator=(const no_more_threads&) = delete;

private:
    pthread_attr_t usual_{};
};

// The first request stands still on its way until it may go on.
class held_up {
public:
    explicit held_up(fault_plan& of, std::optional<fault> then = std::nullopt) {
        of.fail_when([this, then](std::string_view statement, int) -> std::optional<fault> {
            if (statement != "start_with_grant" || has_come_.exchange(true)) return std::nullopt;
            came_.count_down();
            goes_on_.wait();
            return then;
        });
    }
    void wait() const { came_.wait(); }
    void go_on() { goes_on_.count_down(); }

private:
    std::atomic<bool> has_come_ = false;
    std::latch came_{1}, goes_on_{1};
};

class begin_race_test : public model_test {
protected:
    static session_settings late(session_settings settings = calm()) {
        settings.begins_with_grant = true;
        return settings;
    }
    bool has_live_row(const session& of) {
        const auto found = row(of.id());
        return found && model_.server().with_tables([&](memory_tables& tables) {
            return found->expires_at > tables.now;
        });
    }
    // The first `start` fails so, the next so, ...; a start with a grant is another statement.
    void fail_starts(
        std::vector<fault> how, std::function<void(int)> at = [](int) {}
    ) {
        const auto number = std::make_shared<std::size_t>(0);
        plan_->fail_when(
            [how = std::move(how),
             at = std::move(at),
             number](std::string_view statement, int) -> std::optional<fault> {
                if (statement != "start") return std::nullopt;
                at(static_cast<int>(*number));
                return *number < how.size() ? std::optional{how[(*number)++]} : std::nullopt;
            }
        );
    }
    bool others_get(const key& name) {
        session other{sound(), calm("other")};
        return is_granted(mutex(other, name).try_acquire());
    }
};

// ------------------------------------------------------------------- an end that is not the last

TEST_F(begin_race_test, who_enters_once_more_during_an_end_is_told_before_others_have_the_key) {
    session mine{faulty(), calm()};
    mutex deep{mine, name_, {.recursive = true}};
    auto held = deep.try_acquire();
    ASSERT_TRUE(held);
    std::optional<acquisition> again;
    bool was_held_when_told = false;
    std::optional<std::stop_callback<std::function<void()>>> told;
    // Between the question whether it is the last one, and its release.
    const std::stop_callback enters{
        held->lost(), [&] {
            again.emplace(deep.try_acquire());
            if (!*again) return;
            told.emplace((*again)->lost(), [&] { was_held_when_told = model_.is_held(name_); });
        }};
    EXPECT_EQ(mine.end_with(std::move(*held)), release_outcome::still_held);
    ASSERT_TRUE(again && *again);
    EXPECT_EQ((*again)->why_lost(), loss_reason::session_ended);
    EXPECT_TRUE(was_held_when_told);
    EXPECT_FALSE(model_.is_held(name_));
    EXPECT_FALSE(has_live_row(mine));
    EXPECT_TRUE(others_get(name_));
}

// The same as with another session's level: the callback that is told holds it until then.
TEST_F(begin_race_test, who_has_entered_once_more_is_told_by_another_threads_end) {
    session mine{faulty(), calm()};
    mutex deep{mine, name_, {.recursive = true}};
    auto held = deep.try_acquire();
    ASSERT_TRUE(held);
    std::optional<acquisition> again;
    const std::stop_callback enters{held->lost(), [&] { again.emplace(deep.try_acquire()); }};
    bool is_taken = false, is_told = false, is_done = false;
    plan_->fail_when([&](std::string_view statement, int) -> std::optional<fault> {
        const bool is_release = statement == "release" || statement == "end_with_release";
        if (!again || is_done || !is_release) return std::nullopt;
        is_done = true;
        thread{[&] { mine.end(); }}.join();
        is_told = (*again)->lost().stop_requested();
        is_taken = others_get(name_);
        return std::nullopt;
    });
    (void)mine.end_with(std::move(*held));
    EXPECT_TRUE(is_done);
    EXPECT_TRUE(is_taken);
    EXPECT_TRUE(is_told);
}

// A missing row would count as alive, and the key be closed for good.
TEST_F(begin_race_test, an_end_by_another_thread_leaves_the_row_to_the_release) {
    session mine{sound(), calm()};
    auto held = mutex{mine, name_}.try_acquire();
    ASSERT_TRUE(held);
    ASSERT_TRUE(mine.inner()->is_ending_with(*held->inner()->granted()));
    mine.end();
    EXPECT_TRUE(row(mine.id()));
    EXPECT_FALSE(has_live_row(mine));
    EXPECT_TRUE(others_get(name_));
    mine.inner()->end_with(false);
    EXPECT_TRUE(row(mine.id()));
}

TEST_F(begin_race_test, an_end_whose_release_fails_leaves_the_row_expired_and_the_key_free) {
    session mine{faulty(), calm()};
    auto held = mutex{mine, name_}.try_acquire();
    ASSERT_TRUE(held);
    plan_->fail_every("end_with_release", fault::refused);
    EXPECT_TRUE(thrown_by([&] { (void)mine.end_with(std::move(*held)); }));
    EXPECT_EQ(held->why_lost(), loss_reason::released);
    EXPECT_FALSE(mine.is_live());
    EXPECT_TRUE(row(mine.id()));
    EXPECT_FALSE(has_live_row(mine));
    EXPECT_TRUE(others_get(name_));
}

// ------------------------------------------------------------------------ nobody would renew it

void expect_no_thread(const std::function<void()>& call) {
    try {
        call();
        ADD_FAILURE() << "there was a thread for it";
    } catch (const std::system_error& failure) {
        EXPECT_EQ(failure.code(), std::errc::resource_unavailable_try_again) << failure.what();
    }
}

TEST_F(begin_race_test, a_grant_is_not_kept_where_no_thread_can_be_started_for_its_session) {
    session mine{sound(), late()};
    {
        const no_more_threads none;
        expect_no_thread([&] { (void)mutex(mine, name_).try_acquire(); });
    }
    EXPECT_FALSE(mine.is_live());
    EXPECT_TRUE(mine.lost().stop_requested());
    EXPECT_FALSE(model_.is_held(name_));
    EXPECT_TRUE(others_get(name_));
    const auto failure = thrown_by([&] { (void)mutex(mine, name_).try_acquire(); });
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->code(), errc::session_lost);
    mine.end();
    EXPECT_TRUE(row(mine.id()));
    EXPECT_FALSE(has_live_row(mine));
}

TEST_F(begin_race_test, nor_is_a_row_that_came_by_itself) {
    session mine{sound(), late()};
    {
        const no_more_threads none;
        expect_no_thread([&] { (void)semaphore(mine, name_, 2).try_acquire(); });
    }
    EXPECT_TRUE(mine.lost().stop_requested());
    EXPECT_TRUE(row(mine.id()));
    EXPECT_FALSE(has_live_row(mine));
}

// ----------------------------------------------------------------------------- starts in doubt

TEST_F(begin_race_test, a_start_whose_answers_were_lost_has_begun_the_session) {
    const fault lost = fault::lost_after_it, none = fault::lost_before_sending;
    for (const auto& faults : {std::vector{lost, lost, lost}, std::vector{lost, none, none}}) {
        session mine{faulty(), late(eager())};
        fail_starts(faults);
        EXPECT_TRUE(
            thrown_by([&] { (void)semaphore(mine, key{"s"}, 2).try_acquire(); }) || mine.is_live()
        );
        plan_->heal();
        EXPECT_TRUE(has_live_row(mine));
        EXPECT_LT(mine.deadline(), local_clock::now() + 60s);
        auto held = mutex{mine, name_}.try_acquire();
        ASSERT_TRUE(held) << "as in any session that has begun";
        const auto deadline = mine.deadline();
        EXPECT_TRUE(eventually([&] { return mine.deadline() > deadline; })) << "it has a heartbeat";
        EXPECT_EQ(held->release(), release_outcome::released);
        mine.end();
        EXPECT_TRUE(row(mine.id())) << "a start may still be on its way";
        EXPECT_FALSE(has_live_row(mine));
    }
}

// The failure behind the commit says nothing of the database: the caller never hears of the key.
TEST_F(begin_race_test, a_first_grant_that_fails_behind_its_commit_is_given_back) {
    session mine{faulty(), late()};
    plan_->fail_when([&](std::string_view statement, int number) -> std::optional<fault> {
        if (statement != "start_with_grant" || number > 1) return std::nullopt;
        throw std::bad_alloc{};
    });
    EXPECT_THROW((void)mutex(mine, name_).try_acquire(), std::bad_alloc);
    EXPECT_TRUE(mine.inner()->has_begun());
    EXPECT_TRUE(has_live_row(mine));
    EXPECT_TRUE((mutex{mine, key{"another"}}.try_acquire()));
    mine.end();
    EXPECT_TRUE(row(mine.id())) << "what is on its way finds it";
    EXPECT_FALSE(has_live_row(mine));
}

TEST_F(begin_race_test, a_start_that_never_came_is_told_by_a_heartbeat) {
    session mine{faulty(), late(eager())};
    plan_->fail_every("start", fault::lost_on_the_way);
    EXPECT_TRUE(thrown_by([&] { (void)semaphore(mine, key{"s"}, 2).try_acquire(); }));
    plan_->heal();
    EXPECT_TRUE(stopped(mine.lost(), 20s));
    EXPECT_EQ(mine.why_lost(), loss_reason::ended_by_server);
}

TEST_F(begin_race_test, a_start_that_finds_its_row_expired_has_lost_the_session) {
    session mine{faulty(), late()};
    fail_starts({fault::lost_after_it}, [&](int number) {
        if (number != 1) return;
        model_.server().with_tables([&](memory_tables& tables) {
            tables.sessions.at(mine.id()).expires_at = tables.now;
        });
    });
    const auto failure = thrown_by([&] { (void)semaphore(mine, key{"s"}, 2).try_acquire(); });
    ASSERT_TRUE(failure);
    EXPECT_TRUE(stopped(mine.lost(), 20s));
    EXPECT_EQ(mine.why_lost(), loss_reason::ended_by_server);
    const auto next = thrown_by([&] { (void)mutex(mine, name_).try_acquire(); });
    ASSERT_TRUE(next);
    EXPECT_EQ(next->code(), errc::session_lost);
}

// ------------------------------------------------------------------------- calls with an end

TEST_F(begin_race_test, a_call_waits_for_anothers_beginning_no_longer_than_it_may) {
    session mine{patient(), late()};
    held_up first{*plan_};
    thread begins{[&] { EXPECT_TRUE(mutex(mine, name_).try_acquire()); }};
    first.wait();
    std::atomic<bool> has_failed = false;
    thread waits{[&] {
        const auto failure = thrown_by([&] { (void)mutex(mine, key{"other"}).acquire_for(2s); });
        EXPECT_TRUE(failure && failure->code() == errc::timed_out);
        has_failed = true;
    }};
    EXPECT_TRUE(eventually([&] {
        test_time::advance(100ms);
        return has_failed.load();
    }));
    first.go_on();
    begins.join();
    waits.join();
    EXPECT_TRUE(mutex(mine, key{"other"}).try_acquire());
}

TEST_F(begin_race_test, a_call_that_is_cancelled_while_it_begins_asks_no_more) {
    session other{sound(), calm("other")};
    auto theirs = mutex{other, name_}.try_acquire();
    session mine{faulty(), late()};
    std::stop_source cancel;
    int starts = 0;
    fail_starts({fault::refused, fault::refused, fault::refused}, [&](int) {
        ++starts;
        cancel.request_stop();
    });
    EXPECT_FALSE(is_granted(mutex(mine, name_).acquire(cancel.get_token())));
    EXPECT_EQ(starts, 1);
    EXPECT_FALSE(row(mine.id()));
    plan_->heal();
    EXPECT_TRUE(mutex(mine, key{"free"}).try_acquire()) << "it has not begun, and can";
}

TEST_F(begin_race_test, an_end_stops_who_tries_to_connect_to_begin_it) {
    database_settings settings;
    settings.pool_timeout = 30s;
    settings.statement_timeout = 30s;
    session mine{model_.open(settings, plan_->wrapper()), late()};
    plan_->fail_when([](std::string_view statement, int) -> std::optional<fault> {
        if (statement == "start_with_grant") return fault::lost_before_sending;
        return statement == "connect" ? std::optional{fault::refused} : std::nullopt;
    });
    const auto began = local_clock::now();
    thread begins{[&] { EXPECT_TRUE(thrown_by([&] { (void)mutex(mine, name_).try_acquire(); })); }};
    EXPECT_TRUE(plan_->wait_for_strikes(2, 20s));
    mine.end();
    begins.join();
    EXPECT_LT(local_clock::now() - began, 20s);
    EXPECT_FALSE(mine.is_live());
}

// ------------------------------------------------------------------------------- an end meanwhile

TEST_F(begin_race_test, an_end_waits_for_the_first_grant_and_takes_it_back) {
    session mine{patient(), late()};
    held_up first{*plan_};
    std::optional<acquisition> held;
    thread begins{[&] { held.emplace(mutex{mine, name_}.try_acquire()); }};
    first.wait();
    thread ends{[&] {
        mine.end();
        EXPECT_TRUE(row(name_)) << "nothing comes after it";
        EXPECT_FALSE(model_.is_held(name_));
    }};
    EXPECT_TRUE(eventually([&] { return mine.inner()->over().stop_requested(); }));
    first.go_on();
    begins.join();
    ends.join();
    ASSERT_TRUE(held && *held);
    EXPECT_EQ((*held)->why_lost(), loss_reason::session_ended);
    EXPECT_TRUE(mine.lost().stop_requested());
    EXPECT_EQ(mine.why_lost(), loss_reason::session_ended);
    EXPECT_FALSE(has_live_row(mine));
    EXPECT_TRUE(others_get(name_));
}

// Nobody gets either grant: one hangs and was carried out, the answer of the other was lost.
TEST_F(begin_race_test, a_first_grant_that_comes_after_the_end_is_nobodys) {
    for (const auto then : {std::optional<fault>{}, std::optional{fault::lost_after_it}}) {
        SCOPED_TRACE(then ? name_of(*then) : "answered");
        const key name{then ? "lost" : "answered"};
        session mine{faulty(), late()};
        held_up first{*plan_, then};
        thread begins{[&] {
            std::optional<acquisition> held;
            thrown_by([&] { held.emplace(mutex{mine, name}.try_acquire()); });
            const bool has_it = held && *held;
            EXPECT_TRUE(!has_it || (*held)->why_lost() == loss_reason::session_ended);
        }};
        first.wait();
        mine.end();
        EXPECT_FALSE(mine.is_live());
        first.go_on();
        begins.join();
        EXPECT_TRUE(row(mine.id())) << "left, so that nothing comes later";
        EXPECT_FALSE(has_live_row(mine));
        EXPECT_TRUE(others_get(name));
        plan_->heal();
    }
}

TEST_F(begin_race_test, of_several_first_grants_one_begins_the_session) {
    constexpr int threads = 8;
    session mine{patient(), late()};
    std::atomic<int> first_requests = 0, starts = 0;
    plan_->fail_when([&](std::string_view statement, int) -> std::optional<fault> {
        if (statement == "start_with_grant") ++first_requests;
        if (statement == "start") ++starts;
        return std::nullopt;
    });
    std::latch all_are_there{threads};
    std::atomic<int> granted = 0;
    {
        std::vector<thread> all;
        for (int each = 0; each < threads; ++each) {
            all.emplace_back([&, each] {
                all_are_there.arrive_and_wait();
                auto held = mutex{mine, key{"k/" + std::to_string(each)}}.try_acquire();
                if (held && held->verify()) ++granted;
            });
        }
    }
    EXPECT_EQ(granted, threads);
    EXPECT_EQ(first_requests, 1);
    EXPECT_EQ(starts, 0);
    EXPECT_TRUE(has_live_row(mine));
}

}  // namespace
}  // namespace leasehold::testing
