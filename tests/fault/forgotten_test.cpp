// A server that forgets what it had answered: it crashes behind a commit that was not flushed, or
// is started on an older copy of its data, as after a fail-over to a standby that was behind. The
// sessions live on. Serial, as outage_test.cpp: fault_outage.<backend>.
#include "fault/server_control.hpp"
#include "fault/suite.hpp"
#include "leasehold/multi_lock.hpp"
#include "leasehold/semaphore.hpp"
#include "support/granted.hpp"
#include "support/thread.hpp"

namespace leasehold::testing {
namespace {

// The suite's name has the word by which CTest runs it apart from all others.
class outage_forgotten : public server_suite {
protected:
    // Long enough for three starts of a server on a slow machine.
    static session_settings lively(const char* name) {
        auto settings = calm(name);
        settings.ttl = 10min;
        settings.heartbeat_every = 500ms;
        return settings;
    }
    // A call of this handle that finds the server away tries again, for as long as a test may take.
    static database steady() {
        database_settings settings;
        settings.pool_timeout = 60s;
        return current().open(settings);
    }
    // Then `by` has a connection again: the first request on an old one would be lost on its way.
    void keep_data(const database& by) {
        control_.stop();
        control_.keep();
        control_.start();
        wait_for_answer(by);
    }
    void put_data_back(const database& by) {
        control_.stop();
        control_.put_back();
        control_.start();
        wait_for_answer(by);
    }
    static void wait_for_answer(const database& by) {
        const auto answers = [&] { return !thrown_by([&] { (void)describe(by, key{"any"}); }); };
        EXPECT_TRUE(eventually(answers, 60s));
    }
    // Asks like somebody else, whose first request may meet a server that is just starting.
    bool is_free(const key& name) {
        return eventually(
            [&] {
                bool has_it = false;
                thrown_by([&] { has_it = is_granted(mutex(other_, name).try_acquire()); });
                return has_it;
            },
            60s
        );
    }

    server_control control_{current().name};
    session other_{steady(), lively("other")};
};

// Not every crash undoes one. None does if the server flushes with every commit.
TEST_F(outage_forgotten, a_release_that_a_crash_has_undone_is_repeated) {
    auto settings = lively("one");
    settings.heartbeat_every = 2s;  // its commit flushes the release before it
    session one{steady(), settings};
    constexpr int crashes = 5;
    for (int each = 0; each < crashes && !HasFailure(); ++each) {
        const key name = fresh("k");
        auto held = mutex{one, name}.try_acquire();
        ASSERT_TRUE(held);
        EXPECT_EQ(held->release(), release_outcome::released);
        control_.kill();
        control_.start();
        EXPECT_TRUE(is_free(name)) << "crash " << each;
        EXPECT_TRUE(one.is_live());
    }
}

TEST_F(outage_forgotten, what_was_given_up_is_given_up_again) {
    const database db = steady();
    session one{db, lively("one")};
    const key name = fresh("k"), wanted = fresh("wanted"), permits = fresh("permits");
    const key a = fresh("a"), b = fresh("b");
    auto theirs = mutex{other_, wanted}.try_acquire();
    std::stop_source cancel;
    thread waiting{
        [&] { thrown_by([&] { (void)mutex(one, wanted).acquire(cancel.get_token()); }); }};
    const auto is_awaited = [&] {
        std::optional<lock_info> seen;
        thrown_by([&] { seen = describe(first_, wanted); });
        return seen && seen->waiters == 1;
    };
    ASSERT_TRUE(eventually(is_awaited));
    auto held = mutex{one, name}.try_acquire();
    auto set = multi_lock{one, {a, b}}.try_acquire();
    auto all = semaphore{one, permits, 2}.try_acquire(2);
    ASSERT_TRUE(theirs && held && set && all);
    keep_data(db);
    cancel.request_stop();
    waiting.join();
    held->release();
    set->release();
    all->release();
    put_data_back(db);
    EXPECT_TRUE(is_free(name));
    EXPECT_TRUE(is_free(a) && is_free(b));
    EXPECT_TRUE(eventually(
        [&] {
            bool has_it = false;
            thrown_by([&] { has_it = is_granted(semaphore(other_, permits, 2).try_acquire(2)); });
            return has_it;
        },
        60s
    ));
    EXPECT_TRUE(eventually([&] { return !is_awaited(); }, 60s)) << "it would be handed the key";
    EXPECT_TRUE(one.is_live());
}

// The end is the first thing that the session asks of the server after it was put back.
TEST_F(outage_forgotten, an_end_closes_no_key_for_ever) {
    const database db = steady();
    session one{db, calm("one")};
    const key name = fresh("k");
    auto held = mutex{one, name}.try_acquire();
    ASSERT_TRUE(held);
    keep_data(db);
    EXPECT_EQ(held->release(), release_outcome::released);
    put_data_back(db);
    one.end();
    EXPECT_TRUE(is_free(name));
}

TEST_F(outage_forgotten, a_grant_is_told_to_its_holder_within_a_heartbeat) {
    const database db = steady();
    session one{db, lively("one")};
    const key kept = fresh("kept"), name = fresh("k"), permits = fresh("permits");
    auto first = mutex{one, kept}.try_acquire();
    ASSERT_TRUE(first);
    keep_data(db);
    auto held = mutex{one, name}.try_acquire();
    auto permit = semaphore{one, permits, 2}.try_acquire();
    ASSERT_TRUE(held && permit);
    put_data_back(db);
    EXPECT_TRUE(stopped(held->lost(), 60s));
    EXPECT_EQ(held->why_lost(), loss_reason::taken_over);
    EXPECT_TRUE(stopped(permit->lost(), 60s));
    EXPECT_TRUE(one.is_live());
    EXPECT_FALSE(first->lost().stop_requested());
    EXPECT_TRUE(first->verify());
}

}  // namespace
}  // namespace leasehold::testing
