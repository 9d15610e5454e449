// leasehold::session: one heartbeat for everything, told before lost, no resurrection.
#include <functional>
#include <thread>

#include "conformance/suite.hpp"
#include "leasehold/barrier.hpp"
#include "leasehold/detach.hpp"
#include "leasehold/latch.hpp"
#include "leasehold/lockable.hpp"
#include "leasehold/multi_lock.hpp"
#include "leasehold/semaphore.hpp"
#include "leasehold/shared_mutex.hpp"
#include "locks/hold_store.hpp"
#include "locks/holder_store.hpp"
#include "locks/waiter_store.hpp"
#include "session/session_store.hpp"
#include "support/granted.hpp"

namespace leasehold::testing {
namespace {

using session_suite = suite;

TEST_F(session_suite, a_session_shows_in_the_list_while_it_lives_and_is_gone_when_it_ends) {
    const auto find = [&](const session_id& id) {
        for (const auto& each : list_sessions(second_)) {
            if (each.id == id) return std::optional(each);
        }
        return std::optional<session_info>{};
    };
    session one{first_, calm("visible")};
    const auto info = find(one.id());
    ASSERT_TRUE(info);
    EXPECT_TRUE(info->is_live);
    EXPECT_EQ(info->node_info.substr(0, 8), "visible@");
    EXPECT_GT(info->remaining, 59min);
    expire(one);
    EXPECT_FALSE(find(one.id())->is_live);
    session two{first_, calm("ending")};
    two.end();
    EXPECT_FALSE(find(two.id()));
}

TEST_F(session_suite, a_session_that_was_moved_from_refuses_locks) {
    session one{first_, calm("one")};
    session moved = std::move(one);
    const auto refused = thrown_by([&] { (void)mutex{one, fresh("k")}; });
    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->code(), errc::invalid_argument);
    EXPECT_NE(std::string{refused->what()}.find("moved from"), std::string::npos);
    one.end();
    EXPECT_TRUE(moved.is_live());
    one = std::move(moved);
    EXPECT_TRUE(is_granted(mutex{one, fresh("k")}.try_acquire()));
}

TEST_F(session_suite, the_heartbeat_keeps_everything_it_holds_beyond_the_ttl) {
    session one{first_, brisk("one")}, other{second_, calm("other")};
    std::vector<key> names;
    std::vector<acquisition> held;
    for (int each = 0; each < 20; ++each) {
        names.emplace_back(fresh("k"));
        held.push_back(mutex{one, names.back()}.try_acquire());
    }
    const auto start = local_clock::now();
    EXPECT_TRUE(eventually([&] { return local_clock::now() > start + 9s; }));
    EXPECT_TRUE(one.is_live());
    for (const key& name : names) EXPECT_FALSE(is_granted(mutex(other, name).try_acquire()));
}

// Promise 6. The row expires behind the session's back; the next heartbeat must not revive it.
TEST_F(session_suite, an_expired_session_is_not_revived_by_its_heartbeat) {
    session one{first_, alert("one")};
    auto held = mutex{one, fresh("k")}.try_acquire();
    current().age_session(one.id(), 2h);
    EXPECT_TRUE(stopped(held->lost(), 20s));
    EXPECT_TRUE(stopped(one.lost(), 20s));
    EXPECT_EQ(one.why_lost(), loss_reason::ended_by_server);
    EXPECT_EQ(held->why_lost(), loss_reason::ended_by_server);
    for (const auto& each : list_sessions(second_)) {
        EXPECT_FALSE(each.id == one.id() && each.is_live);
    }
    mutex next{one, fresh("k")};
    const auto failure = thrown_by([&] { (void)next.try_acquire(); });
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->code(), errc::session_lost);
}

// No heartbeat is due for twenty minutes: a caller of is_live() after the refusal must not hear
// that all is well, and ask for the key again, and again.
TEST_F(session_suite, a_refusal_because_the_session_has_ended_is_known_to_the_session_at_once) {
    session other{second_, calm("other")};
    auto theirs = mutex{other, fresh("parcel")}.try_acquire();
    ASSERT_TRUE(theirs);
    const detached_lease parcel = detach(std::move(*theirs));
    const std::vector<std::pair<const char*, std::function<void(session&)>>> calls{
        {"mutex", [&](session& of) { (void)mutex(of, fresh("k")).try_acquire(); }},
        {"waiting", [&](session& of) { (void)mutex(of, fresh("k")).acquire(); }},
        {"fixed term",
         [&](session& of) {
             mutex_settings settings;
             settings.fixed_term = 1h;
             (void)mutex(of, fresh("k"), settings).try_acquire();
         }},
        {"in a transaction",
         [&](session& of) {
             transaction tx = first_.begin();
             (void)mutex(of, fresh("k")).try_acquire_in(tx);
         }},
        {"keys",
         [&](session& of) {
             (void)multi_lock(of, {fresh("a"), fresh("b")}).acquire();
         }},
        {"reader", [&](session& of) { (void)shared_mutex(of, fresh("k")).acquire_shared(); }},
        {"writer", [&](session& of) { (void)shared_mutex(of, fresh("k")).try_acquire(); }},
        {"semaphore", [&](session& of) { (void)semaphore(of, fresh("k"), 3).acquire(2); }},
        {"latch", [&](session& of) { (void)latch(of, fresh("k"), 2).try_join(); }},
        {"barrier", [&](session& of) { (void)barrier(of, fresh("k"), 2).arrive_and_wait(); }},
        {"adopt", [&](session& of) { (void)adopt(of, parcel); }},
    };
    for (const auto& each : calls) {
        SCOPED_TRACE(each.first);
        session one{first_, calm("one")};
        auto held = mutex{one, fresh("held")}.try_acquire();
        ASSERT_TRUE(held);
        expire(one);
        ASSERT_TRUE(one.is_live()) << "nothing has said so yet";
        const auto failure = thrown_by([&] { each.second(one); });
        ASSERT_TRUE(failure);
        EXPECT_EQ(failure->code(), errc::session_lost) << failure->what();
        EXPECT_FALSE(one.is_live());
        EXPECT_EQ(one.why_lost(), loss_reason::ended_by_server);
        EXPECT_FALSE(held->held_locally());
        // The watch thread, where it looked at its clock just now, may be the one that tells.
        EXPECT_TRUE(stopped(one.lost(), 20s));
        EXPECT_TRUE(stopped(held->lost(), 20s));
    }
}

// Promise 5, measured at the database: when the holder is told, nobody else can have the key yet.
TEST_F(session_suite, a_holder_cut_off_from_the_database_is_told_before_it_expires) {
    auto way = std::make_shared<gate>();
    auto settings = calm("one");
    settings.ttl = 9s;
    settings.heartbeat_every = 1s;
    settings.margin = 4s;  // a slow machine still asks the database in time
    session one{current().open_through(way), settings};
    const key name = fresh("k");
    auto held = mutex{one, name}.try_acquire();
    ASSERT_TRUE(held);
    way->close();
    ASSERT_TRUE(stopped(held->lost(), 20s));
    const auto seen = describe(second_, name);
    EXPECT_EQ(held->why_lost(), loss_reason::expired);
    EXPECT_FALSE(held->held_locally());
    ASSERT_TRUE(seen);
    EXPECT_TRUE(seen->is_held) << "told only after the database let go";
    EXPECT_GT(seen->remaining, 0us);
    way->open();
}

TEST_F(session_suite, a_session_rides_over_an_outage_shorter_than_its_ttl) {
    auto way = std::make_shared<gate>();
    auto settings = calm("one");
    settings.ttl = 6000ms;
    settings.heartbeat_every = 200ms;
    session one{current().open_through(way), settings};
    auto held = mutex{one, fresh("k")}.try_acquire();
    way->close();
    EXPECT_TRUE(eventually([&] { return way->refused() >= 2; }));
    way->open();
    const auto deadline = one.deadline();
    EXPECT_TRUE(eventually([&] { return one.deadline() > deadline; }));
    EXPECT_TRUE(held->verify());
}

TEST_F(session_suite, ending_a_session_releases_everything_at_once) {
    session one{first_, calm("one")}, two{second_, calm("two")};
    const key a = fresh("a"), b = fresh("b");
    auto held_a = mutex{one, a}.try_acquire();
    auto held_b = mutex{one, b}.try_acquire();
    one.end();
    EXPECT_TRUE(held_a->lost().stop_requested());
    EXPECT_EQ(held_b->why_lost(), loss_reason::session_ended);
    EXPECT_TRUE(mutex(two, a).try_acquire());
    EXPECT_TRUE(mutex(two, b).try_acquire());
    EXPECT_TRUE(one.lost().stop_requested());
    EXPECT_EQ(one.why_lost(), loss_reason::session_ended);
    EXPECT_EQ(held_a->release(), release_outcome::not_held);
}

TEST_F(session_suite, a_lease_freed_by_force_is_lost_with_the_next_heartbeat_and_others_are_not) {
    session one{first_, alert("one")};
    const key name = fresh("k");
    auto forced = mutex{one, name}.try_acquire();
    auto kept = mutex{one, fresh("kept")}.try_acquire();
    const auto freed = force_release(second_, name);
    ASSERT_TRUE(freed);
    EXPECT_EQ(freed->token, forced->token());
    EXPECT_TRUE(stopped(forced->lost(), 20s));
    EXPECT_EQ(forced->why_lost(), loss_reason::taken_over);
    EXPECT_TRUE(one.is_live());
    EXPECT_FALSE(kept->lost().stop_requested());
    EXPECT_TRUE(kept->verify());
}

// Promise 4: whatever the client's clocks say, only durations travel; the server dates the row.
TEST_F(session_suite, the_expiry_in_the_row_is_one_ttl_from_the_servers_own_now) {
    auto settings = calm("one");
    settings.ttl = 90s;
    session one{first_, settings};
    const auto all = list_sessions(second_);
    const auto mine = std::find_if(all.begin(), all.end(), [&](const session_info& each) {
        return each.id == one.id();
    });
    ASSERT_NE(mine, all.end());
    EXPECT_LE(mine->remaining, 90s);
    EXPECT_GT(mine->remaining, 60s);
    EXPECT_LT(mine->heartbeat_ago, 30s);
    EXPECT_GE(mine->heartbeat_ago, 0us);
}

// An unknown value is not compared; a known one that has changed is news.
TEST_F(session_suite, a_heartbeat_renews_on_the_server_it_knows_and_tells_of_another) {
    session one{first_, calm("one")};
    const auto beat = [&](const database& by, const session_news& known) {
        return by.inner()->use([&](connection& on, store_set& stores) {
            return stores.get<session_store>().heartbeat(on, one.id(), 1h, known);
        });
    };
    EXPECT_EQ(beat(first_, {0}).status, heartbeat_status::renewed);
    const auto noticed = beat(first_, {0, "another one"});
    ASSERT_EQ(noticed.status, heartbeat_status::noticed);
    EXPECT_EQ(noticed.news.notices, 0);
    EXPECT_FALSE(noticed.news.incarnation.empty());
    EXPECT_EQ(beat(first_, noticed.news).status, heartbeat_status::renewed);
    EXPECT_EQ(beat(second_, noticed.news).status, heartbeat_status::renewed);
    EXPECT_EQ(beat(first_, {1, noticed.news.incarnation}).status, heartbeat_status::noticed);
}

// As after a release, an abandoned permit or a place in a queue that the database has forgotten.
TEST_F(session_suite, an_end_removes_no_row_that_a_lock_a_holder_or_a_waiter_refers_to) {
    session other{second_, calm("other")};
    const auto with = [&](const auto& use) {
        return first_.inner()->use([&](connection& on, store_set& stores) {
            return use(on, stores);
        });
    };
    enum what { lock, holder, waiter, nothing };
    for (const what refers : {lock, holder, waiter, nothing}) {
        SCOPED_TRACE(refers);
        session one{first_, calm("one")};
        const acquire_request wanted{
            key{fresh("k")}, owner_id::random(), one.id(), "forgotten", std::nullopt};
        auto theirs = mutex{other, fresh("theirs")}.try_acquire();
        waiter_id last{wanted.key, wanted.owner, 0};
        if (refers == lock) {
            with([&](connection& on, store_set& stores) {
                return stores.get<hold_store>().try_acquire(on, wanted);
            });
        } else if (refers == holder) {
            const holder_request permit{
                wanted.key,
                wanted.owner,
                one.id(),
                "forgotten",
                lock_kind::semaphore,
                hold_mode::shared,
                1,
                1,
                0,
                std::nullopt};
            with([&](connection& on, store_set& stores) {
                return stores.get<holder_store>().try_acquire(on, permit);
            });
        } else if (refers == waiter) {
            acquire_request queued = wanted;
            queued.key = theirs->key();
            last.key = queued.key;
            last.ticket = with([&](connection& on, store_set& stores) {
                              return stores.get<waiter_store>().enqueue(on, queued);
                          }).ticket;
            ASSERT_NE(last.ticket, 0);
        }
        const std::vector<waiter_id> all{{key{fresh("free")}, owner_id::random(), 0}, last};
        with([&](connection& on, store_set& stores) {
            stores.get<session_store>().end(on, one.id(), all);
            return 0;
        });
        bool is_listed = false;
        for (const auto& each : list_sessions(second_)) {
            if (each.id != one.id()) continue;
            is_listed = true;
            EXPECT_FALSE(each.is_live);
        }
        EXPECT_EQ(is_listed, refers != nothing);
        // Neither row of the ended session is in the way.
        const auto got = refers == holder ? semaphore(other, wanted.key, 1).try_acquire()
                                          : mutex(other, wanted.key).try_acquire();
        EXPECT_TRUE(got);
    }
}

// A crash, or a fail-over, has lost the release: its row is there again.
class forgotten_release : public suite {
protected:
    void give_back(const session& to, const key& name, const owner_id& owner) {
        const acquire_request again{name, owner, to.id(), "forgotten", std::nullopt};
        const auto got = first_.inner()->use([&](connection& on, store_set& stores) {
            return stores.get<hold_store>().try_acquire(on, again);
        });
        ASSERT_EQ(got.status, acquire_status::granted);
    }
};

TEST_F(forgotten_release, is_repeated_by_the_sessions_own_heartbeat_now_and_then) {
    session one{first_, brisk("one")}, other{second_, calm("other")};
    const key name = fresh("k");
    auto held = mutex{one, name}.try_acquire();
    const auto owner = held->owner();
    EXPECT_EQ(held->release(), release_outcome::released);
    give_back(one, name, owner);
    EXPECT_FALSE(is_granted(mutex(other, name).try_acquire()));
    EXPECT_TRUE(eventually([&] {
        return is_granted(mutex(other, name).try_acquire()) || !one.is_live();
    }));
    EXPECT_TRUE(one.is_live());
}

TEST_F(forgotten_release, closes_no_key_for_ever_when_its_session_ends) {
    session one{first_, calm("one")}, other{second_, calm("other")};
    const key name = fresh("k"), kept = fresh("kept");
    auto held = mutex{one, name}.try_acquire();
    const auto owner = held->owner();
    EXPECT_EQ(held->release(), release_outcome::released);
    give_back(one, name, owner);
    one.end();
    EXPECT_TRUE(mutex(other, name).try_acquire());
}

TEST_F(session_suite, bad_settings_are_refused_before_anything_is_sent) {
    const auto before = list_sessions(first_).size();
    for (const auto ttl : {0ms, -1ms, 999ms, 86'400'001ms, std::chrono::milliseconds::max()}) {
        auto settings = calm("bad");
        settings.ttl = ttl;
        const auto failure = thrown_by([&] { (void)session{first_, settings}; });
        ASSERT_TRUE(failure) << ttl.count();
        EXPECT_EQ(failure->code(), errc::invalid_argument);
    }
    EXPECT_EQ(list_sessions(first_).size(), before);
}

}  // namespace
}  // namespace leasehold::testing
