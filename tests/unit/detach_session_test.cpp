// A session handed over whole: its text, and what becomes of answers that are lost.
#include "leasehold/detach.hpp"

#include <atomic>
#include <thread>

#include "leasehold/multi_lock.hpp"
#include "leasehold/semaphore.hpp"
#include "leasehold/shared_mutex.hpp"
#include "session/session.hpp"
#include "support/granted.hpp"
#include "unit/model_fixture.hpp"

namespace leasehold::testing {
namespace {

class detach_session_test : public model_test {
protected:
    static detached_session example() {
        detached_session made;
        made.session = session_id::random();
        made.name = "one@host:12 (detached 0123456789abcdef)";
        const auto owner = owner_id::random();
        made.holds = {
            {{key{"plain"}, owner, {7}, made.session}},
            {{key{"two words\nand a line"}, owner, {8}, made.session},
             lock_kind::shared_mutex,
             hold_mode::upgradeable},
            {{key{"7 "}, owner, {9}, made.session},
             lock_kind::semaphore,
             hold_mode::shared,
             3,
             std::chrono::microseconds{5}}};
        return made;
    }
    static errc code_of(const std::string& text) {
        const auto failure = thrown_by([&] { (void)detached_session::from_text(text); });
        return failure ? failure->code() : errc{};
    }
};

TEST_F(detach_session_test, its_text_says_all_of_it) {
    for (const bool has_holds : {true, false}) {
        detached_session parcel = example();
        if (!has_holds) parcel.holds.clear();
        EXPECT_EQ(detached_session::from_text(parcel.text()), parcel);
    }
}

TEST_F(detach_session_test, a_text_that_is_none_is_refused) {
    const std::string good = example().text();
    ASSERT_EQ(code_of(good), errc{});
    for (std::size_t length = 0; length < good.size(); ++length) {
        EXPECT_EQ(code_of(good.substr(0, length)), errc::invalid_argument) << length;
    }
    EXPECT_EQ(code_of(good + "x"), errc::invalid_argument);
    EXPECT_EQ(code_of("leasehold1 " + good), errc::invalid_argument);
    const auto with = [&](const std::string& what, const std::string& instead) {
        std::string text = good;
        text.replace(text.find(what), what.size(), instead);
        return text;
    };
    EXPECT_EQ(code_of(with(" 3 7 ", " 2 7 ")), errc::invalid_argument) << "fewer than there are";
    EXPECT_EQ(code_of(with(" 3 7 ", " 4 7 ")), errc::invalid_argument) << "more than there are";
    EXPECT_EQ(code_of(with(" 3 7 ", " 3 0 ")), errc::invalid_argument) << "a token";
    EXPECT_EQ(code_of(with(" 5 2 7 ", " -5 2 7 ")), errc::invalid_argument) << "a term";
    EXPECT_EQ(code_of(with(" 5 2 7 ", " 5 256 7 ")), errc::invalid_argument) << "a length";
    EXPECT_EQ(code_of(with(" 3 7 ", " 3 99999999999999999999 ")), errc::invalid_argument)
        << "a number";
}

TEST_F(detach_session_test, a_lost_answer_is_asked_for_again_on_both_sides) {
    for (const fault how :
         {fault::lost_after_it,
          fault::lost_on_the_way,
          fault::lost_before_sending,
          fault::refused}) {
        const key name{std::string("k ") + name_of(how)};
        session one{faulty(), calm()};
        auto held = mutex{one, name}.try_acquire();
        ASSERT_TRUE(held);
        plan_->fail_in_turn("take_over", {how});
        const auto parcel = detach(std::move(one));
        plan_->fail_in_turn("take_over", {how});
        auto mine = adopt(faulty(), parcel, calm());
        ASSERT_TRUE(mine) << name_of(how);
        EXPECT_TRUE(mine->leases.at(0).verify()) << name_of(how);
        EXPECT_FALSE(is_granted(adopt(sound(), parcel))) << name_of(how);
        mine->session.end();
        EXPECT_FALSE(model_.is_held(name)) << name_of(how);
    }
}

TEST_F(detach_session_test, where_nobody_answers_the_session_goes_on) {
    session one{faulty(), calm()};
    auto held = mutex{one, name_}.try_acquire();
    plan_->fail_every("take_over", fault::lost_after_it);
    const auto failure = thrown_by([&] { (void)detach(std::move(one)); });
    ASSERT_TRUE(failure);
    EXPECT_TRUE(failure->outcome_is_unknown());
    plan_->heal();
    EXPECT_TRUE(one.is_live());
    EXPECT_TRUE(held->verify());
    // Its row may have the name of that try.
    auto mine = adopt(sound(), detach(std::move(one)), calm());
    ASSERT_TRUE(mine);
    EXPECT_TRUE(mine->leases.at(0).verify());
}

TEST_F(detach_session_test, what_an_adopter_may_have_taken_ends_by_itself) {
    session one{sound(), calm()};
    auto held = mutex{one, name_}.try_acquire();
    const auto parcel = detach(std::move(one));
    plan_->fail_every("take_over", fault::lost_after_it);
    const auto failure = thrown_by([&] { (void)adopt(faulty(), parcel, calm()); });
    ASSERT_TRUE(failure);
    EXPECT_TRUE(failure->outcome_is_unknown());
    plan_->heal();
    EXPECT_FALSE(is_granted(adopt(sound(), parcel, calm()))) << "it was taken";
    EXPECT_TRUE(model_.is_held(name_));
    model_.age_session(parcel.session, 2h);
    session other{sound(), calm()};
    EXPECT_TRUE((mutex{other, name_}.try_acquire()));
}

TEST_F(detach_session_test, what_is_in_doubt_is_waited_for) {
    session one{faulty(), calm()};
    one.inner()->settle_later(name_, owner_id::random());
    const auto failure = thrown_by([&] { (void)detach(std::move(one)); });
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->code(), errc::transient);
    EXPECT_TRUE(one.is_live());
}

// The first process is stopped in the middle of a heartbeat, and goes on when another one has it.
TEST_F(detach_session_test, a_heartbeat_of_who_had_it_renews_nothing) {
    std::atomic<bool> has_come = false, may_go = false;
    plan_->fail_when([&](std::string_view statement, int) {
        if (statement == "heartbeat" && !has_come.exchange(true)) {
            while (!may_go) std::this_thread::yield();
        }
        return std::optional<fault>{};
    });
    std::optional<session> one{std::in_place, faulty(), eager()};
    std::optional<acquisition> held{mutex{*one, name_}.try_acquire()};
    ASSERT_TRUE(eventually([&] { return has_come.load(); }));
    const auto parcel = detach(std::move(*one));
    auto mine = adopt(sound(), parcel, calm());
    ASSERT_TRUE(mine);
    const auto expires_at = row(parcel.session)->expires_at;
    const std::weak_ptr<session::implementation> first = one->inner();
    held.reset();
    one.reset();
    may_go = true;
    ASSERT_TRUE(eventually([&] { return first.expired(); }));
    EXPECT_GE(row(parcel.session)->expires_at, expires_at) << "of the adopter's ttl, an hour";
    EXPECT_TRUE(mine->leases.at(0).verify());
}

// The callback that is told first may release a lease that was not told yet.
TEST_F(detach_session_test, nothing_that_goes_over_is_released_by_who_is_told) {
    session one{sound(), calm()};
    auto first = mutex{one, key{"a"}}.try_acquire(), second = mutex{one, key{"b"}}.try_acquire();
    ASSERT_TRUE(first && second);
    std::atomic<int> told = 0;
    const auto release = [&](acquisition& other) {
        ++told;
        EXPECT_EQ(other->release(), release_outcome::not_held);
    };
    const std::stop_callback on_first{first->lost(), [&] { release(second); }};
    const std::stop_callback on_second{second->lost(), [&] { release(first); }};
    const auto parcel = detach(std::move(one));
    EXPECT_EQ(told, 2);
    EXPECT_EQ(parcel.holds.size(), 2U);
    EXPECT_TRUE(model_.is_held(key{"a"}) && model_.is_held(key{"b"}));
}

TEST_F(detach_session_test, a_lease_of_several_that_lost_one_leaves_the_others) {
    session one{sound(), calm()};
    auto several = multi_lock{one, {key{"a"}, key{"b"}}}.try_acquire();
    ASSERT_TRUE(several);
    ASSERT_TRUE(force_release(sound(), key{"a"}));
    EXPECT_FALSE(several->verify());
    const auto parcel = detach(std::move(one));
    ASSERT_EQ(parcel.holds.size(), 1U);
    auto mine = adopt(sound(), parcel, calm());
    ASSERT_TRUE(mine);
    EXPECT_NE(several->release(), release_outcome::released);
    EXPECT_TRUE(mine->leases.at(0).verify()) << "it is another process's";
}

// An inner release whose answer was lost leaves such a count.
TEST_F(detach_session_test, the_last_release_frees_the_key_whatever_its_count) {
    session one{sound(), calm()};
    auto held = mutex{one, name_}.try_acquire();
    ASSERT_TRUE(held);
    model_.server().with_tables([&](memory_tables& tables) {
        tables.locks.at(name_.name()).reentrant_count = 2;
        return 0;
    });
    auto mine = adopt(sound(), detach(std::move(one)), calm());
    ASSERT_TRUE(mine);
    EXPECT_FALSE(mine->session.settings().begins_with_grant);
    EXPECT_EQ(mine->leases.at(0).release(), release_outcome::released);
    EXPECT_FALSE(model_.is_held(name_));
}

TEST_F(detach_session_test, a_term_of_permits_goes_on_there) {
    session one{sound(), calm()};
    auto held = semaphore{one, name_, 2, {.max_hold = 30min}}.try_acquire();
    ASSERT_TRUE(held);
    const auto deadline = held->deadline();
    auto mine = adopt(sound(), detach(std::move(one)), calm());
    ASSERT_TRUE(mine);
    EXPECT_LT(mine->leases.at(0).deadline(), deadline + 1min);
    EXPECT_TRUE(mine->leases.at(0).extend(1ms));
    EXPECT_TRUE(eventually([&] { return mine->leases.at(0).lost().stop_requested(); }));
}

TEST_F(detach_session_test, its_end_leaves_nothing_that_the_first_process_gave_away) {
    session one{sound(), calm()}, other{sound(), calm()};
    auto held = mutex{one, name_}.try_acquire();
    ASSERT_TRUE(held);
    const detached_lease apart = detach(std::move(*held));
    auto mine = adopt(sound(), detach(std::move(one)), calm());
    ASSERT_TRUE(mine);
    EXPECT_TRUE(mine->leases.empty()) << "it was detached by itself before";
    EXPECT_TRUE(model_.is_held(name_));
    mine->session.end();
    EXPECT_TRUE((mutex{other, name_}.try_acquire()));
}

}  // namespace
}  // namespace leasehold::testing
