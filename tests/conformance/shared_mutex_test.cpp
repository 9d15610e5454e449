// leasehold::shared_mutex: readers beside each other, writers alone, writers not starved, upgrade
// and downgrade, and what a death leaves.
#include <algorithm>
#include <atomic>

#include "conformance/shared_suite.hpp"
#include "leasehold/reaper.hpp"
#include "leasehold/semaphore.hpp"
#include "support/granted.hpp"
#include "support/thread.hpp"

namespace leasehold::testing {
namespace {

TEST_F(shared_mutex_suite, readers_are_beside_each_other_and_a_writer_is_alone) {
    auto a = mine_.try_acquire_shared();
    auto b = other_.try_acquire_shared();
    auto c = other_.try_acquire_shared();
    ASSERT_TRUE(a && b && c);
    auto refused = other_.try_acquire();
    EXPECT_FALSE(refused);
    ASSERT_TRUE(refused.holder());
    EXPECT_EQ(refused.holder()->owner, a->owner());
    EXPECT_EQ(refused.holder()->mode, hold_mode::shared);
    for (auto* each : {&a, &b, &c}) EXPECT_EQ((*each)->release(), release_outcome::released);
    auto writing = other_.try_acquire();
    ASSERT_TRUE(writing);
    EXPECT_FALSE(is_granted(mine_.try_acquire()));
    EXPECT_FALSE(is_granted(mine_.try_acquire_upgradeable()));
    auto kept_out = mine_.try_acquire_shared();
    EXPECT_FALSE(kept_out);
    ASSERT_TRUE(kept_out.holder());
    EXPECT_EQ(kept_out.holder()->mode, hold_mode::exclusive);
    EXPECT_EQ(kept_out.holder()->session, two_.id());
    EXPECT_GT(kept_out.holder()->remaining, 59min);
}

TEST_F(shared_mutex_suite, tokens_grow_across_readers_and_writers_and_across_other_kinds) {
    std::int64_t last = 0;
    const auto expect_greater = [&](acquisition& got) {
        EXPECT_GT(token_of(got), last);
        last = std::max(last, token_of(got));
    };
    for (int round = 0; round < 3; ++round) {
        auto reading = mine_.try_acquire_shared();
        expect_greater(reading);
        auto also = other_.try_acquire_upgradeable();
        expect_greater(also);
        reading->release();
        auto writing = other_.try_upgrade(std::move(*also));
        expect_greater(writing);
        writing->release();
        auto counted = semaphore{one_, name_, 2}.try_acquire(2);
        expect_greater(counted);
    }
}

TEST_F(shared_mutex_suite, there_is_one_upgradeable_and_readers_do_not_mind) {
    auto up = mine_.try_acquire_upgradeable();
    ASSERT_TRUE(up);
    EXPECT_FALSE(is_granted(other_.try_acquire_upgradeable()));
    EXPECT_FALSE(is_granted(other_.try_acquire()));
    auto reading = other_.try_acquire_shared();
    EXPECT_TRUE(reading);
    EXPECT_FALSE(is_granted(mine_.try_upgrade(std::move(*up)))) << "there is a reader";
    EXPECT_TRUE(up->verify()) << "a refused upgrade leaves the hold";
    reading->release();
    auto writing = mine_.try_upgrade(std::move(*up));
    ASSERT_TRUE(writing);
    EXPECT_TRUE(up->lost().stop_requested());
    EXPECT_EQ(up->release(), release_outcome::not_held);
    EXPECT_TRUE(writing->verify());
    EXPECT_FALSE(is_granted(other_.try_acquire_shared()));
}

TEST_F(shared_mutex_suite, only_the_upgradeable_lease_can_become_exclusive) {
    auto reading = mine_.try_acquire_shared();
    auto failure = thrown_by([&] { (void)mine_.try_upgrade(std::move(*reading)); });
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->code(), errc::invalid_argument);
    failure = thrown_by([&] { (void)other_.try_upgrade(std::move(*reading)); });
    ASSERT_TRUE(failure) << "of another session";
    EXPECT_EQ(failure->code(), errc::invalid_argument);
    EXPECT_TRUE(reading->verify());
}

TEST_F(shared_mutex_suite, an_upgrade_of_what_was_freed_by_force_is_lost) {
    auto up = mine_.try_acquire_upgradeable();
    ASSERT_TRUE(up);
    ASSERT_TRUE(force_release(second_, name_));
    const auto failure = thrown_by([&] { (void)mine_.try_upgrade(std::move(*up)); });
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->code(), errc::lease_lost);
    EXPECT_FALSE(describe(second_, name_)->is_held);
}

TEST_F(shared_mutex_suite, a_waiting_upgrade_gets_through_against_readers_that_keep_coming) {
    auto up = mine_.try_acquire_upgradeable();
    auto reading = other_.try_acquire_shared();
    ASSERT_TRUE(up && reading);
    thread upgrading{[&] {
        auto writing = mine_.upgrade_for(std::move(*up), 20s);
        EXPECT_GT(token_of(writing), token_of(up));
    }};
    EXPECT_TRUE(eventually([&] { return !is_granted(other_.try_acquire_shared()); }))
        << "it says that it waits";
    reading->release();
    upgrading.join();
    auto again = other_.try_acquire_shared();
    EXPECT_TRUE(again);
}

TEST_F(shared_mutex_suite, an_upgrade_waits_as_long_as_it_takes) {
    auto up = mine_.try_acquire_upgradeable();
    auto reading = other_.try_acquire_shared();
    ASSERT_TRUE(up && reading);
    EXPECT_FALSE(
        is_granted(mine_.upgrade_until(std::move(*up), std::chrono::system_clock::now() + 30ms))
    );
    std::stop_source enough;
    std::atomic<bool> has_given_up = false;
    thread upgrading{[&] {
        EXPECT_FALSE(is_granted(mine_.upgrade(std::move(*up), enough.get_token())));
        has_given_up = true;
        auto writing = mine_.upgrade(std::move(*up));
        ASSERT_TRUE(writing);
        EXPECT_TRUE(writing->verify());
    }};
    EXPECT_TRUE(eventually([&] { return describe(second_, name_)->waiters == 1; }));
    enough.request_stop();
    EXPECT_TRUE(eventually([&] { return has_given_up.load(); }));
    EXPECT_TRUE(eventually([&] { return describe(second_, name_)->waiters == 1; }));
    reading->release();
    upgrading.join();
}

TEST_F(shared_mutex_suite, an_upgrade_that_gives_up_lets_readers_in_again) {
    auto up = mine_.try_acquire_upgradeable();
    auto reading = other_.try_acquire_shared();
    EXPECT_FALSE(is_granted(mine_.upgrade_for(std::move(*up), 50ms)));
    EXPECT_TRUE(up->verify());
    auto more = other_.try_acquire_shared();
    EXPECT_TRUE(more);
}

TEST_F(shared_mutex_suite, a_downgrade_lets_readers_in_and_keeps_lease_and_token) {
    auto writing = mine_.try_acquire();
    const auto token = token_of(writing);
    mine_.downgrade(*writing);
    EXPECT_EQ(token_of(writing), token);
    EXPECT_TRUE(writing->verify());
    auto reading = other_.try_acquire_shared();
    EXPECT_TRUE(reading);
    EXPECT_FALSE(is_granted(other_.try_acquire()));
    mine_.downgrade(*writing);  // harmless
    EXPECT_EQ(writing->release(), release_outcome::released);
    const auto failure = thrown_by([&] { mine_.downgrade(*writing); });
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->code(), errc::lease_lost);
}

TEST_F(shared_mutex_suite, a_waiting_writer_is_not_starved_and_leaves_no_trace_when_it_gives_up) {
    auto reading = mine_.try_acquire_shared();
    ASSERT_TRUE(reading);
    std::atomic<bool> has_written = false;
    thread writer{[&] {
        auto writing = other_.acquire_for(20s);
        has_written = static_cast<bool>(writing);
    }};
    EXPECT_TRUE(eventually([&] { return !is_granted(mine_.try_acquire_shared()); }));
    EXPECT_FALSE(is_granted(mine_.try_acquire_upgradeable()));
    EXPECT_FALSE(has_written);
    reading->release();
    writer.join();
    EXPECT_TRUE(has_written);
    auto next = mine_.try_acquire_shared();
    EXPECT_TRUE(next) << "it has written and gone";
    EXPECT_FALSE(is_granted(other_.acquire_for(30ms)));
    auto beside = other_.try_acquire_shared();
    EXPECT_TRUE(beside) << "it has given up";
    std::stop_source cancel;
    cancel.request_stop();
    EXPECT_FALSE(is_granted(other_.acquire(cancel.get_token())));
    auto again = other_.try_acquire_shared();
    EXPECT_TRUE(again) << "it was cancelled";
}

// Force takes the wish away with the holds. Readers then have to come before the writer asks again,
// or it gets the key and the round is for nothing.
TEST_F(shared_mutex_suite, a_waiting_writer_whose_wish_was_removed_by_force_says_so_again) {
    session writing{second_, alert("writing")};
    std::stop_source cancel;
    std::atomic<int> written = 0;
    auto reading = mine_.try_acquire_shared();
    ASSERT_TRUE(reading);
    thread writer{[&] {
        shared_mutex its{writing, name_, {.min_poll = 100ms, .max_poll = 200ms}};
        while (!cancel.stop_requested()) {
            if (auto got = its.acquire(cancel.get_token())) ++written;
        }
    }};
    const auto is_kept_out = [&] { return !is_granted(other_.try_acquire_shared()); };
    bool was_overtaken = false;
    for (int round = 0; round < 50 && !was_overtaken; ++round) {
        EXPECT_TRUE(eventually(is_kept_out));
        const int before = written;
        EXPECT_TRUE(force_release(first_, name_));
        auto next = mine_.acquire_shared_for(20s);
        EXPECT_TRUE(next);
        was_overtaken = written == before;
        reading = std::move(next);
    }
    EXPECT_TRUE(was_overtaken) << "the test is about a writer that is still waiting";
    EXPECT_TRUE(eventually(is_kept_out));
    cancel.request_stop();
}

TEST_F(shared_mutex_suite, a_writer_whose_session_is_ended_while_it_waits_keeps_nobody_out) {
    auto reading = mine_.try_acquire_shared();
    ASSERT_TRUE(reading);
    session ending{second_, calm("ending")};
    thread writer{[&] {
        shared_mutex its{ending, name_, {.min_poll = 30min, .max_poll = 30min}};
        const auto failure = thrown_by([&] { (void)its.acquire(); });
        ASSERT_TRUE(failure);
        EXPECT_EQ(failure->code(), errc::session_lost) << failure->what();
    }};
    EXPECT_TRUE(eventually([&] { return !is_granted(other_.try_acquire_shared()); })) << "it waits";
    ending.end();
    // While the writer takes its wish back its row is locked, for a moment.
    EXPECT_TRUE(eventually([&] { return is_granted(other_.try_acquire_shared()); }));
    writer.join();
    EXPECT_TRUE(other_.try_acquire_shared());
}

TEST_F(shared_mutex_suite, a_writer_that_dies_while_it_waits_keeps_nobody_out) {
    auto reading = mine_.try_acquire_shared();
    session dying{first_, calm("dying")};
    std::stop_source cancel;
    thread writer{[&] {
        shared_mutex waiting{dying, name_, {.min_poll = 30min, .max_poll = 30min}};
        EXPECT_FALSE(is_granted(waiting.acquire(cancel.get_token())));
    }};
    EXPECT_TRUE(eventually([&] { return !is_granted(other_.try_acquire_shared()); }));
    expire(dying);
    auto beside = other_.try_acquire_shared();
    EXPECT_TRUE(beside);
    cancel.request_stop();
}

TEST_F(shared_mutex_suite, each_readers_hold_expires_alone) {
    session dead{first_, calm("dead")};
    shared_mutex its{dead, name_};
    auto lost = its.try_acquire_shared();
    auto also_lost = its.try_acquire_shared();
    auto kept = mine_.try_acquire_shared();
    ASSERT_TRUE(lost && also_lost && kept);
    EXPECT_FALSE(is_granted(other_.try_acquire()));
    expire(dead);
    EXPECT_FALSE(is_granted(other_.try_acquire())) << "one reader lives";
    EXPECT_TRUE(kept->verify());
    EXPECT_FALSE(lost->verify());
    EXPECT_EQ(lost->why_lost(), loss_reason::taken_over);
    kept->release();
    auto writing = other_.try_acquire();
    EXPECT_TRUE(writing) << "the dead one needs no clean-up";
    EXPECT_EQ(also_lost->release(), release_outcome::not_held);
    EXPECT_TRUE(writing->verify());
}

TEST_F(shared_mutex_suite, a_dead_writer_is_followed_by_readers_and_a_dead_upgradeable_by_another) {
    session dead{first_, calm("dead")};
    shared_mutex its{dead, name_};
    {
        auto writing = its.try_acquire();
        EXPECT_FALSE(is_granted(mine_.try_acquire_shared()));
        expire(dead);
        auto reading = mine_.try_acquire_shared();
        EXPECT_GT(token_of(reading), token_of(writing));
    }
    session late{first_, calm("late")};
    auto up = shared_mutex{late, name_}.try_acquire_upgradeable();
    EXPECT_FALSE(is_granted(mine_.try_acquire_upgradeable()));
    expire(late);
    auto next = mine_.try_acquire_upgradeable();
    EXPECT_GT(token_of(next), token_of(up));
}

// A missing row is no proof of death.
TEST_F(shared_mutex_suite, a_reader_whose_session_row_is_missing_counts_as_alive_until_reaped) {
    session gone{first_, calm("gone")};
    auto reading = shared_mutex{gone, name_}.try_acquire_shared();
    current().remove_session_row(gone.id());
    EXPECT_FALSE(is_granted(other_.try_acquire()));
    EXPECT_GE(reap(second_).locks_freed, 1);
    auto writing = other_.try_acquire();
    EXPECT_TRUE(writing);
}

TEST_F(shared_mutex_suite, an_expired_session_is_granted_nothing) {
    expire(one_);
    const auto failure = thrown_by([&] { (void)mine_.try_acquire_shared(); });
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->code(), errc::session_lost);
    auto writing = other_.try_acquire();
    EXPECT_TRUE(writing);
}

TEST_F(shared_mutex_suite, the_reaper_removes_dead_readers_and_keeps_their_session_until_then) {
    session dead{first_, calm("dead")};
    auto reading = shared_mutex{dead, name_}.try_acquire_shared();
    current().age_session(dead.id(), 100h);
    auto kept = mine_.try_acquire_shared();
    reap(second_);
    EXPECT_EQ(describe(second_, name_)->holders, 1);
    for (const auto& each : list_sessions(second_)) EXPECT_NE(each.id, dead.id());
    EXPECT_TRUE(kept->verify());
}

TEST_F(shared_mutex_suite, a_header_with_holders_is_not_removed_and_without_them_tokens_go_on) {
    auto reading = mine_.try_acquire_shared();
    current().age_lock(name_, 1000h);
    reap(second_);
    EXPECT_TRUE(reading->verify());
    ASSERT_TRUE(describe(second_, name_));
    const auto token = token_of(reading);
    reading->release();
    reap(second_);
    EXPECT_FALSE(describe(second_, name_));
    auto next = other_.try_acquire();
    EXPECT_GT(token_of(next), token);
}

TEST_F(shared_mutex_suite, force_frees_all_holders_and_their_sessions_find_out) {
    session alert_one{first_, alert("alert")};
    auto a = shared_mutex{alert_one, name_}.try_acquire_shared();
    auto b = other_.try_acquire_shared();
    const auto freed = force_release(first_, name_);
    ASSERT_TRUE(freed);
    EXPECT_EQ(freed->holders, 2);
    EXPECT_EQ(freed->owner, a->owner());
    EXPECT_TRUE(eventually([&] { return a->lost().stop_requested(); })) << "by its heartbeat";
    EXPECT_EQ(a->why_lost(), loss_reason::taken_over);
    EXPECT_FALSE(b->verify());
    auto writing = mine_.try_acquire();
    EXPECT_GT(token_of(writing), freed->token.number + 2) << "forcing moves the token on";
    EXPECT_TRUE(alert_one.is_live());
    EXPECT_FALSE(force_release(first_, fresh("never")));
}

TEST_F(shared_mutex_suite, a_grant_survives_the_notice_of_another_loss) {
    session alert_one{first_, alert("alert")};
    auto lost = mutex{alert_one, fresh("m")}.try_acquire();
    auto kept = shared_mutex{alert_one, name_}.try_acquire_shared();
    ASSERT_TRUE(lost && kept);
    ASSERT_TRUE(force_release(second_, lost->key()));
    EXPECT_TRUE(eventually([&] { return lost->lost().stop_requested(); }));
    EXPECT_FALSE(kept->lost().stop_requested());
    EXPECT_TRUE(kept->verify());
}

TEST_F(shared_mutex_suite, ending_a_session_frees_what_it_holds_at_once) {
    auto a = mine_.try_acquire_shared();
    auto b = mine_.try_acquire_upgradeable();
    ASSERT_TRUE(a && b);
    one_.end();
    EXPECT_TRUE(a->lost().stop_requested());
    auto writing = other_.try_acquire();
    EXPECT_TRUE(writing);
}

TEST_F(shared_mutex_suite, the_list_names_every_holder_and_describe_counts_them) {
    auto b = other_.try_acquire_shared();
    auto a = mine_.try_acquire_upgradeable();
    auto held = mutex{one_, name_.name() + "/m"}.try_acquire();
    const auto listed = list_locks(second_, name_.name());
    ASSERT_EQ(listed.size(), 3u);
    EXPECT_EQ(listed[0].owner, b->owner());
    EXPECT_EQ(listed[0].session, two_.id());
    EXPECT_EQ(listed[0].kind, lock_kind::shared_mutex);
    EXPECT_EQ(listed[0].mode, hold_mode::shared);
    EXPECT_EQ(listed[0].holders, 2);
    EXPECT_EQ(listed[0].node_info.substr(0, 4), "two@");
    EXPECT_EQ(listed[1].owner, a->owner());
    EXPECT_EQ(listed[1].mode, hold_mode::upgradeable);
    EXPECT_GE(listed[1].held_for, 0us);
    EXPECT_EQ(listed[2].kind, lock_kind::mutex);
    EXPECT_EQ(listed[2].holders, 1);
    EXPECT_EQ(describe(second_, name_)->holders, 2);
    EXPECT_TRUE(describe(second_, name_)->is_held);
    EXPECT_TRUE(list_locks(second_, name_.name() + "x").empty());
}

TEST_F(shared_mutex_suite, a_key_in_use_as_another_kind_is_refused_with_both_names) {
    const auto refusal = [&](auto&& run) {
        const auto failure = thrown_by(run);
        EXPECT_TRUE(failure);
        if (!failure) return std::string();
        EXPECT_EQ(failure->code(), errc::invalid_argument);
        return std::string(failure->what());
    };
    const auto has = [](const std::string& text, const char* word) {
        return text.find(word) != std::string::npos;
    };
    {
        auto held = mutex{one_, name_}.try_acquire();
        const auto said = refusal([&] { (void)other_.try_acquire_shared(); });
        EXPECT_TRUE(has(said, "as a mutex") && has(said, "as a shared mutex")) << said;
    }
    auto reading = mine_.try_acquire_shared();
    ASSERT_TRUE(reading) << "a key nobody holds may change its kind";
    const auto said = refusal([&] { (void)semaphore(two_, name_, 3).try_acquire(); });
    EXPECT_TRUE(has(said, "as a shared mutex") && has(said, "as a semaphore")) << said;
    reading->release();
    auto permit = semaphore{two_, name_, 3}.try_acquire();
    EXPECT_TRUE(permit);
}

}  // namespace
}  // namespace leasehold::testing
