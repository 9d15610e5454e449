// A database that forgets: answered writes are not in the data it goes on with. On the model,
// whose data can be put back to a copy in an instant.
#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "leasehold/detach.hpp"
#include "leasehold/latch.hpp"
#include "leasehold/multi_lock.hpp"
#include "leasehold/semaphore.hpp"
#include "leasehold/shared_mutex.hpp"
#include "leasehold/versioned_claim.hpp"
#include "support/granted.hpp"
#include "support/thread.hpp"
#include "unit/model_fixture.hpp"

namespace leasehold::testing {
namespace {

class forgotten_test : public model_test {
protected:
    bool is_back(const key& name) {
        return eventually([&] { return is_granted(mutex(other_, name).try_acquire()); });
    }
    // The number of rows of all tables that name the session.
    int rows_of(const session& whose) {
        return model_.server().with_tables([&](const memory_tables& tables) {
            int count = 0;
            for (const auto& [name, row] : tables.locks) count += row.session == whose.id() ? 1 : 0;
            for (const auto& [at, row] : tables.holders) count += row.session == whose.id() ? 1 : 0;
            for (const auto& [at, row] : tables.waiters) count += row.session == whose.id() ? 1 : 0;
            return count;
        });
    }
    // Everything a session can have, in a copy of the data; then it gives up all of it.
    memory_tables with_all_that_is_given_up(session& mine) {
        auto theirs = mutex{other_, "theirs"}.try_acquire();
        auto read = shared_mutex{other_, "read"}.try_acquire_shared();
        std::stop_source cancel;
        thread queueing{[&] { (void)mutex(mine, "theirs").acquire(cancel.get_token()); }};
        thread announcing{[&] { (void)shared_mutex(mine, "read").acquire(cancel.get_token()); }};
        auto held = mutex{mine, name_}.try_acquire();
        auto term = mutex{mine, "term", {.fixed_term = 1h}}.try_acquire();
        auto keys = multi_lock{mine, {"a", "b"}}.try_acquire();
        auto permits = semaphore{mine, "permits", 3}.try_acquire(3);
        auto place = latch{mine, "places", 2}.try_join();
        EXPECT_TRUE(held && term && keys && permits && place);
        EXPECT_TRUE(eventually([&] { return rows_of(mine) == 7; })) << rows_of(mine);
        const auto copy = model_.copy();
        cancel.request_stop();
        for (lease* each : {&*held, &*term, &*permits, &*place}) each->release();
        keys->release();
        queueing.join();
        announcing.join();
        EXPECT_EQ(rows_of(mine), 0);
        return copy;
    }

    session other_{sound(), calm("other")};
};

TEST_F(forgotten_test, what_was_given_up_and_is_back_is_given_up_again) {
    session mine{faulty(), eager()};
    const auto copy = with_all_that_is_given_up(mine);
    model_.put_back(copy);
    ASSERT_EQ(rows_of(mine), 7) << "the test is about rows that are back";
    EXPECT_TRUE(eventually([&] { return rows_of(mine) == 0; })) << rows_of(mine);
    EXPECT_TRUE(is_back(name_));
    EXPECT_TRUE(is_back(key{"term"}));
    EXPECT_TRUE(mine.is_live());
}

// As behind a pooler: the server says that it is the same one, and no connection broke.
TEST_F(forgotten_test, what_is_back_without_any_sign_is_found_within_some_ttl) {
    auto settings = eager();
    settings.ttl = 3s;
    settings.heartbeat_every = 100ms;
    session mine{faulty(), settings};
    const auto copy = with_all_that_is_given_up(mine);
    model_.put_back(copy, false);
    EXPECT_TRUE(eventually([&] { return rows_of(mine) == 0 || !mine.is_live(); }));
    EXPECT_TRUE(mine.is_live());
    EXPECT_TRUE(is_back(name_));
}

// Round trips are what takes long on a slow network, and the next heartbeat waits for them.
TEST_F(forgotten_test, whatever_several_can_hold_is_looked_for_in_few_statements) {
    constexpr int holds = 200;
    session mine{faulty(), eager()};
    std::vector<acquisition> held;
    for (int each = 0; each < holds; ++each) {
        held.push_back(semaphore{mine, "permits", holds}.try_acquire());
        ASSERT_TRUE(held.back());
    }
    const auto copy = model_.copy();
    for (auto& each : held) each->release();
    std::atomic<int> looks = 0;
    plan_->fail_when([&](std::string_view statement, int) -> std::optional<fault> {
        if (statement.find("look") != std::string_view::npos) ++looks;
        return std::nullopt;
    });
    model_.put_back(copy);
    EXPECT_TRUE(eventually([&] { return rows_of(mine) == 0; })) << rows_of(mine);
    EXPECT_LT(looks, holds / 4);
    EXPECT_TRUE(mine.is_live());
    plan_->heal();
}

// Each is told once, however often its release fails, and keeps none of the others back.
TEST_F(forgotten_test, a_release_that_fails_again_and_again_is_repeated_and_told_once) {
    constexpr int keys = 5;
    session mine{faulty(), eager()};
    std::vector<acquisition> held;
    for (int each = 0; each < keys; ++each) {
        held.push_back(mutex{mine, "k" + std::to_string(each)}.try_acquire());
        ASSERT_TRUE(held.back());
    }
    const auto copy = model_.copy();
    for (auto& each : held) each->release();
    plan_->fail_every("release_owner", fault::refused);
    model_.put_back(copy);
    ASSERT_TRUE(plan_->wait_for_strikes(keys + 2, 20s));
    plan_->heal();
    EXPECT_TRUE(eventually([&] { return rows_of(mine) == 0; })) << rows_of(mine);
    EXPECT_EQ(events_->count(event_kind::warning), keys);
    EXPECT_TRUE(mine.is_live());
}

// The database gave the second key another hour, and its answer never came.
TEST_F(forgotten_test, a_key_whose_extension_got_no_answer_is_given_back_with_the_others) {
    session mine{faulty(), eager()};
    auto held = multi_lock{mine, {key{"a"}, key{"b"}}, {.fixed_term = 2s}}.try_acquire();
    ASSERT_TRUE(held);
    const auto extensions = std::make_shared<std::atomic<int>>(0);
    plan_->fail_when([extensions](std::string_view statement, int) -> std::optional<fault> {
        if (statement != "extend_term" || ++*extensions == 1) return std::nullopt;
        return fault::lost_after_it;
    });
    thrown_by([&] { EXPECT_FALSE(held->extend(1h)); });
    EXPECT_GT(*extensions, 1);
    ASSERT_TRUE(stopped(held->lost(), 20s));
    EXPECT_EQ(held->why_lost(), loss_reason::expired);
    plan_->heal();
    EXPECT_EQ(held->release(), release_outcome::not_held) << "one was lost before";
    EXPECT_TRUE(model_.wait_until_free(key{"a"}, 20s));
    EXPECT_TRUE(model_.wait_until_free(key{"b"}, 20s));
}

TEST_F(forgotten_test, ending_removes_no_row_that_something_refers_to) {
    session mine{faulty(), calm()};
    const auto copy = with_all_that_is_given_up(mine);
    model_.put_back(copy);
    mine.end();
    EXPECT_TRUE(row(mine.id())) << "a missing row would count as alive";
    EXPECT_FALSE(model_.is_held(name_));
    EXPECT_TRUE(is_back(name_));
    EXPECT_TRUE((semaphore{other_, "permits", 3}.try_acquire(3)));
}

TEST_F(forgotten_test, a_session_that_released_more_than_one_statement_can_ask_about_only_expires) {
    session mine{faulty(), calm()};
    for (int each = 0; each < 300; ++each) {
        auto held = mutex{mine, "k" + std::to_string(each)}.try_acquire();
    }
    const auto id = mine.id();
    mine.end();
    ASSERT_TRUE(row(id));
    for (const auto& each : list_sessions(sound())) EXPECT_TRUE(each.id != id || !each.is_live);
}

TEST_F(forgotten_test, a_grant_that_is_not_there_any_more_is_told_by_the_next_heartbeat) {
    session mine{faulty(), eager()};
    auto kept = mutex{mine, "kept"}.try_acquire();
    auto permit = semaphore{mine, "permits", 3}.try_acquire();
    const auto copy = model_.copy();
    auto lost = mutex{mine, name_}.try_acquire();
    auto also = semaphore{mine, "permits", 3}.try_acquire();
    model_.put_back(copy);
    EXPECT_TRUE(stopped(lost->lost(), 20s));
    EXPECT_EQ(lost->why_lost(), loss_reason::taken_over);
    EXPECT_TRUE(stopped(also->lost(), 20s));
    EXPECT_FALSE(kept->lost().stop_requested());
    EXPECT_FALSE(permit->lost().stop_requested());
    EXPECT_TRUE(mine.is_live());
}

// The fail-over comes between the answer and the moment in which the grant is watched.
TEST_F(forgotten_test, a_grant_that_was_on_its_way_during_a_fail_over_is_asked_for) {
    session mine{patient(), eager()};
    const auto copy = model_.copy();
    plan_->fail_in_turn("try_acquire", {fault::answered_late});
    std::optional<lease> got;
    thread acquiring{[&] { got = *mutex{mine, name_}.try_acquire(); }};
    ASSERT_TRUE(plan_->wait_for_strikes(1, 20s));
    ASSERT_TRUE(eventually([&] { return model_.is_held(name_); }));
    model_.put_back(copy);
    const auto deadline = mine.deadline();
    ASSERT_TRUE(eventually([&] { return mine.deadline() > deadline + 100ms; }));
    plan_->let_go();
    acquiring.join();
    ASSERT_TRUE(got);
    EXPECT_TRUE(stopped(got->lost(), 20s));
}

// Nobody here knows of it, and it was not given up: somebody is about to adopt it.
TEST_F(forgotten_test, what_was_detached_is_left_alone) {
    session mine{faulty(), eager()};
    auto held = mutex{mine, name_}.try_acquire();
    { const auto released = mutex{mine, "released"}.try_acquire(); }
    const detached_lease parcel = detach(std::move(*held));
    model_.put_back(model_.copy());
    const auto deadline = mine.deadline();
    ASSERT_TRUE(eventually([&] { return mine.deadline() > deadline + 200ms; }));
    EXPECT_TRUE(adopt(other_, parcel));
}

}  // namespace
}  // namespace leasehold::testing
