// detach and adopt: a hold moves between sessions, and nobody gets in between.
#include <atomic>
#include <barrier>

#include "conformance/suite.hpp"
#include "leasehold/barrier.hpp"
#include "leasehold/detach.hpp"
#include "leasehold/latch.hpp"
#include "leasehold/semaphore.hpp"
#include "leasehold/shared_mutex.hpp"
#include "locks/hold_store.hpp"
#include "support/granted.hpp"
#include "support/thread.hpp"

namespace leasehold::testing {
namespace {

using detach_suite = suite;

TEST_F(detach_suite, a_detached_hold_is_adopted_with_its_owner_and_token) {
    session one{first_, calm("one")}, two{second_, calm("two")}, other{second_, calm("other")};
    const key name = fresh("k");
    auto held = mutex{one, name}.try_acquire();
    const auto token = held->token();
    const auto owner = held->owner();
    const auto lost = held->lost();
    const detached_lease parcel = detach(std::move(*held));
    EXPECT_TRUE(lost.stop_requested());
    EXPECT_EQ(parcel.token, token);
    EXPECT_EQ(parcel.session, one.id());
    EXPECT_FALSE(is_granted(mutex{other, name}.try_acquire()));
    auto mine = adopt(two, detached_lease::from_text(parcel.text()));
    ASSERT_TRUE(mine);
    EXPECT_EQ(mine->token(), token);
    EXPECT_EQ(mine->owner(), owner);
    one.end();
    EXPECT_TRUE(mine->verify());
    const auto seen = describe(first_, name);
    EXPECT_EQ(seen->session, two.id());
    EXPECT_EQ(seen->node_info.substr(0, 4), "two@");
    {
        transaction tx = second_.begin();
        mine->verify_in(tx);
        tx.commit();
    }
    EXPECT_FALSE(is_granted(mutex{other, name}.try_acquire()));
    EXPECT_EQ(mine->release(), release_outcome::released);
    EXPECT_TRUE((mutex{other, name}.try_acquire()));
}

TEST_F(detach_suite, what_is_detached_ends_with_its_old_session) {
    session other{second_, calm("other")};
    const key name = fresh("k");
    session one{first_, calm("one")};
    auto held = mutex{one, name}.try_acquire();
    const detached_lease parcel = detach(std::move(*held));
    one.end();
    EXPECT_FALSE(is_granted(adopt(other, parcel)));
    EXPECT_TRUE((mutex{other, name}.try_acquire()));
}

TEST_F(detach_suite, a_term_outlives_the_process_and_ends_by_itself) {
    session other{second_, calm("other")};
    const key early = fresh("early"), late = fresh("late");
    std::optional<detached_lease> first_parcel, second_parcel;
    {
        session one{first_, calm("one")};
        auto a = mutex{one, early}.try_acquire();
        auto b = mutex{one, late}.try_acquire();
        first_parcel = detach_for(std::move(*a), 10min);
        second_parcel = detach_for(std::move(*b), 10min);
    }
    EXPECT_FALSE(first_parcel->session);
    EXPECT_FALSE(is_granted(mutex{other, early}.try_acquire()));
    auto mine = adopt(other, *first_parcel);
    ASSERT_TRUE(mine);
    current().age_lock(early, 11min);  // lives with its new session now
    EXPECT_TRUE(mine->verify());
    current().age_lock(late, 11min);
    EXPECT_FALSE(is_granted(adopt(other, *second_parcel)));
    EXPECT_TRUE((mutex{other, late}.try_acquire()));
}

TEST_F(detach_suite, of_two_adopters_the_second_gets_nothing) {
    session one{first_, calm("one")}, two{second_, calm("two")}, three{second_, calm("three")};
    const key name = fresh("k");
    auto held = mutex{one, name}.try_acquire();
    const detached_lease parcel = detach(std::move(*held));
    auto mine = adopt(two, parcel);
    ASSERT_TRUE(mine);
    EXPECT_FALSE(is_granted(adopt(three, parcel)));
    EXPECT_TRUE(mine->verify());
    EXPECT_FALSE(is_granted(adopt(two, parcel))) << "two leases would each release the one hold";
    EXPECT_TRUE(mine->verify());
    EXPECT_TRUE(mine->held_locally());
}

// If it were taken back into the session it lives with, the value would stay good for others, and
// these could then take the hold from under the new lease.
TEST_F(detach_suite, what_was_given_away_is_taken_back_by_another_session_only) {
    session one{first_, calm("one")}, again{first_, calm("again")}, two{second_, calm("two")};
    const key name = fresh("k");
    const detached_lease parcel = detach(*mutex{one, name}.try_acquire());
    const auto refused = thrown_by([&] { (void)adopt(one, parcel); });
    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->code(), errc::invalid_argument);
    auto back = adopt(again, parcel);
    ASSERT_TRUE(back);
    EXPECT_FALSE(is_granted(adopt(two, parcel)));
    EXPECT_TRUE(back->verify());
}

TEST_F(detach_suite, an_adoption_whose_answer_was_lost_is_repeated) {
    session one{first_, calm("one")}, two{second_, calm("two")};
    auto held = mutex{one, fresh("k")}.try_acquire();
    const detached_lease parcel = detach(std::move(*held));
    const adoption sent{{parcel.key, parcel.owner, parcel.token}, parcel.session, two.id(), "two"};
    second_.inner()->use([&](connection& on, store_set& stores) {
        EXPECT_EQ(stores.get<hold_store>().adopt(on, sent), adopt_status::adopted);
    });
    auto mine = adopt(two, parcel);
    ASSERT_TRUE(mine);
    EXPECT_TRUE(mine->verify());
}

TEST_F(detach_suite, racing_adopters_are_served_once) {
    constexpr int adopters = 4, rounds = 8;
    session one{first_, calm("one")};
    for (int round = 0; round < rounds; ++round) {
        const key name = fresh("k");
        auto held = mutex{one, name}.try_acquire();
        const bool has_term = round % 2 == 0;
        const detached_lease parcel =
            has_term ? detach_for(std::move(*held), 10min) : detach(std::move(*held));
        std::atomic<int> served = 0;
        std::barrier all_are_ready{adopters}, all_have_tried{adopters};
        std::vector<thread> threads;
        for (int each = 0; each < adopters; ++each) {
            threads.emplace_back([&] {
                database own = current().open({});
                session mine{own, calm("adopter")};
                all_are_ready.arrive_and_wait();
                auto got = adopt(mine, parcel);
                if (got) ++served;
                all_have_tried.arrive_and_wait();
            });
        }
        threads.clear();
        EXPECT_EQ(served, 1);
    }
}

TEST_F(detach_suite, what_has_gone_is_not_adopted) {
    session one{first_, calm("one")}, two{second_, calm("two")};
    const key forced = fresh("forced"), dead = fresh("dead");
    auto a = mutex{one, forced}.try_acquire();
    const detached_lease first_parcel = detach(std::move(*a));
    ASSERT_TRUE(force_release(second_, forced));
    EXPECT_FALSE(is_granted(adopt(two, first_parcel)));
    auto b = mutex{one, dead}.try_acquire();
    const detached_lease second_parcel = detach(std::move(*b));
    expire(one);
    EXPECT_FALSE(is_granted(adopt(two, second_parcel)));  // promise 6: the dead are not revived
    detached_lease wrong = second_parcel;
    ++wrong.token.number;
    EXPECT_FALSE(is_granted(adopt(two, wrong)));
    expire(two);
    const auto ended = thrown_by([&] { (void)adopt(two, second_parcel); });
    ASSERT_TRUE(ended);
    EXPECT_EQ(ended->code(), errc::session_lost);
}

TEST_F(detach_suite, there_must_be_something_whole_to_detach) {
    session one{first_, calm("one")};
    mutex closing{one, fresh("k"), {.recursive = true}};
    auto outer = closing.try_acquire();
    auto inner = closing.try_acquire();
    EXPECT_EQ(
        thrown_by([&] { (void)detach(std::move(*inner)); }).value().code(), errc::invalid_argument
    );
    auto lost = mutex{one, fresh("k")}.try_acquire();
    ASSERT_TRUE(force_release(second_, lost->key()));
    EXPECT_EQ(
        thrown_by([&] { (void)detach_for(std::move(*lost), 1s); }).value().code(), errc::lease_lost
    );
    auto held = mutex{one, fresh("k")}.try_acquire();
    EXPECT_EQ(
        thrown_by([&] { (void)detach_for(std::move(*held), 0s); }).value().code(),
        errc::invalid_argument
    );
}

TEST_F(detach_suite, a_call_that_is_refused_leaves_the_lease_as_it_was) {
    session one{first_, calm("one")}, two{second_, calm("two")};
    mutex closing{one, fresh("k"), {.recursive = true}};
    auto outer = closing.try_acquire();
    auto inner = closing.try_acquire();
    auto counted = semaphore{one, fresh("s"), 2}.try_acquire();
    auto termed = mutex{one, fresh("t"), {.fixed_term = 10min}}.try_acquire();
    auto plain = mutex{one, fresh("p")}.try_acquire();
    ASSERT_TRUE(outer && inner && counted && termed && plain);
    const auto is_refused = [](auto&& detaching) {
        const auto failure = thrown_by([&] { (void)detaching(); });
        return failure && failure->code() == errc::invalid_argument;
    };
    EXPECT_TRUE(is_refused([&] { return detach(std::move(*inner)); }));
    EXPECT_TRUE(is_refused([&] { return detach_for(std::move(*inner), 1min); }));
    EXPECT_TRUE(is_refused([&] { return detach(std::move(*counted)); }));
    EXPECT_TRUE(is_refused([&] { return detach_for(std::move(*counted), 1min); }));
    EXPECT_TRUE(is_refused([&] { return detach_for(std::move(*termed), 1min); }));
    EXPECT_TRUE(is_refused([&] { return detach_for(std::move(*plain), 0s); }));
    for (auto* each : {&outer, &inner, &counted, &termed, &plain}) {
        EXPECT_TRUE((*each)->verify()) << (*each)->key().name();
        EXPECT_FALSE((*each)->lost().stop_requested()) << (*each)->key().name();
    }
    EXPECT_EQ(inner->release(), release_outcome::still_held);
    const detached_lease parcel = detach_for(std::move(*plain), 10min);
    EXPECT_EQ(plain->why_lost(), loss_reason::released);
    EXPECT_EQ(plain->release(), release_outcome::not_held);
    EXPECT_TRUE(adopt(two, parcel)) << "the spent lease gave nothing back";
}

TEST_F(detach_suite, texts_that_are_none_are_refused) {
    const detached_lease parcel{"a b\tc \xc3\xa4", owner_id::random(), {7}, session_id::random()};
    EXPECT_EQ(detached_lease::from_text(parcel.text()), parcel);
    const detached_lease with_term{"k", owner_id::random(), {7}, std::nullopt};
    EXPECT_EQ(detached_lease::from_text(with_term.text()), with_term);
    for (const std::string& bad :
         {std::string{},
          std::string("leasehold1 7"),
          "leasehold2" + parcel.text().substr(10),
          "leasehold1 -7" + parcel.text().substr(12),
          std::string("leasehold1 7 xx - k"),
          "leasehold1 7 " + owner_id::random().text() + " - "}) {
        const auto refused = thrown_by([&] { (void)detached_lease::from_text(bad); });
        ASSERT_TRUE(refused) << bad;
        EXPECT_EQ(refused->code(), errc::invalid_argument);
    }
}

// ------------------------------------------------------------------------------ a session whole

class whole_session_suite : public suite {
protected:
    session other_{second_, calm("other")};
};

TEST_F(whole_session_suite, all_that_lives_with_it_is_held_in_the_other_process) {
    const key name = fresh("k"), read = fresh("r"), counted = fresh("s");
    std::optional<session> one{std::in_place, first_, calm("one")};
    auto held = mutex{*one, name}.try_acquire();
    auto reader = shared_mutex{*one, read}.try_acquire_shared();
    auto permits = semaphore{*one, counted, 5}.try_acquire(3);
    ASSERT_TRUE(held && reader && permits);
    const auto token = held->token();
    const auto id = one->id();
    const auto text = detach(std::move(*one)).text();
    EXPECT_EQ(held->why_lost(), loss_reason::session_ended);
    EXPECT_EQ(held->release(), release_outcome::not_held) << "it is nobody's here";
    EXPECT_EQ(permits->release(), release_outcome::not_held);
    one.reset();
    EXPECT_FALSE(is_granted(mutex{other_, name}.try_acquire())) << "and nothing was released";

    auto mine = adopt(second_, detached_session::from_text(text), calm("two"));
    ASSERT_TRUE(mine);
    EXPECT_EQ(mine->session.id(), id);
    ASSERT_EQ(mine->leases.size(), 3U);
    for (lease& each : mine->leases) EXPECT_TRUE(each.verify()) << each.key();
    for (lease& each : mine->leases) {
        EXPECT_TRUE(each.key() != name || each.token() == token);
        transaction tx = second_.begin();
        each.verify_in(tx);
        tx.commit();
    }
    EXPECT_FALSE(is_granted(mutex{other_, name}.try_acquire()));
    EXPECT_FALSE(is_granted(shared_mutex{other_, read}.try_acquire()));
    EXPECT_FALSE(is_granted(semaphore{other_, counted, 5}.try_acquire(3)));
    EXPECT_TRUE((semaphore{other_, counted, 5}.try_acquire(2)));
    for (lease& each : mine->leases) {
        if (each.key() != counted) continue;
        semaphore{mine->session, counted, 5}.shrink_to(each, 1);
    }
    EXPECT_TRUE((semaphore{other_, counted, 5}.try_acquire(4)));
    drop(mine);
    EXPECT_TRUE((mutex{other_, name}.try_acquire()));
    EXPECT_TRUE((shared_mutex{other_, read}.try_acquire()));
    EXPECT_TRUE((semaphore{other_, counted, 5}.try_acquire(5)));
}

TEST_F(whole_session_suite, of_several_who_adopt_it_one_has_it) {
    constexpr int takers = 6;
    session one{first_, calm("one")};
    auto held = mutex{one, fresh("k")}.try_acquire();
    const detached_session parcel = detach(std::move(one));
    std::atomic<int> had = 0;
    std::barrier ready{takers};
    std::mutex guarding;
    std::vector<adopted_session> kept;
    std::vector<thread> threads;
    for (int number = 0; number < takers; ++number) {
        threads.emplace_back([&] {
            database own = current().open({});
            ready.arrive_and_wait();
            auto mine = adopt(own, parcel, calm("taker"));
            if (!mine) return;
            ++had;
            const std::lock_guard guard{guarding};
            kept.push_back(*std::move(mine));
        });
    }
    threads.clear();
    EXPECT_EQ(had, 1);
    ASSERT_EQ(kept.size(), 1U);
    EXPECT_TRUE(kept.front().leases.at(0).verify());
    EXPECT_FALSE(is_granted(adopt(second_, parcel))) << "nor later";
}

TEST_F(whole_session_suite, it_can_be_handed_on_again) {
    const key name = fresh("k");
    session one{first_, calm("one")};
    auto held = mutex{one, name}.try_acquire();
    auto second = adopt(second_, detach(std::move(one)), calm("two"));
    ASSERT_TRUE(second);
    auto more = mutex{second->session, fresh("more")}.try_acquire();
    ASSERT_TRUE(more);
    const auto parcel = detach(std::move(second->session));
    EXPECT_EQ(parcel.holds.size(), 2U);
    auto third = adopt(first_, parcel, calm("three"));
    ASSERT_TRUE(third);
    for (lease& each : third->leases) EXPECT_TRUE(each.verify());
    third->session.end();
    EXPECT_TRUE((mutex{other_, name}.try_acquire()));
}

TEST_F(whole_session_suite, nobody_adopts_one_that_has_ended_or_expired) {
    const key name = fresh("k");
    session one{first_, calm("one")};
    auto held = mutex{one, name}.try_acquire();
    const session_id id = one.id();
    const auto parcel = detach(std::move(one));
    current().age_session(id, 2h);
    EXPECT_FALSE(is_granted(adopt(second_, parcel)));
    EXPECT_TRUE((mutex{other_, name}.try_acquire()));
    auto never = parcel;
    never.session = session_id::random();
    EXPECT_FALSE(is_granted(adopt(second_, never)));
}

TEST_F(whole_session_suite, what_was_freed_by_force_meanwhile_is_told) {
    const key name = fresh("k");
    session one{first_, calm("one")};
    auto held = mutex{one, name}.try_acquire();
    const auto parcel = detach(std::move(one));
    EXPECT_TRUE(force_release(second_, name));
    auto mine = adopt(second_, parcel, calm("two"));
    ASSERT_TRUE(mine);
    EXPECT_TRUE(eventually([&] { return mine->leases.at(0).lost().stop_requested(); }));
    EXPECT_TRUE(mine->session.is_live());
}

TEST_F(whole_session_suite, what_cannot_move_is_refused_and_the_session_goes_on) {
    const auto code_of = [](auto&& run) {
        const auto failure = thrown_by(run);
        return failure ? failure->code() : errc{};
    };
    session one{first_, calm("one")};
    mutex twice{one, fresh("k"), {.recursive = true}};
    auto outer = twice.try_acquire();
    {
        auto inner = twice.try_acquire();
        ASSERT_TRUE(outer && inner);
        EXPECT_EQ(code_of([&] { (void)detach(std::move(one)); }), errc::invalid_argument);
    }
    {
        auto place = latch{one, fresh("l"), 2}.try_join();
        ASSERT_TRUE(place);
        EXPECT_EQ(code_of([&] { (void)detach(std::move(one)); }), errc::invalid_argument);
    }
    EXPECT_TRUE(one.is_live());
    EXPECT_TRUE(outer->verify());
    auto fixed = mutex{one, fresh("f"), {.fixed_term = 1h}}.try_acquire();
    ASSERT_TRUE(fixed);
    const auto parcel = detach(std::move(one));
    EXPECT_EQ(parcel.holds.size(), 1U) << "a fixed term stays with who has its lease";
    EXPECT_TRUE(fixed->verify());
    EXPECT_EQ(code_of([&] { (void)detach(std::move(one)); }), errc::session_lost);
}

}  // namespace
}  // namespace leasehold::testing
