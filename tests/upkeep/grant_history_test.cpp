// The history of grants: a grant that ends while it is on is in it, once, with its ending.
#include "leasehold/grant_history.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>

#include "leasehold/error.hpp"
#include "leasehold/inspect.hpp"
#include "leasehold/latch.hpp"
#include "leasehold/migrate.hpp"
#include "leasehold/multi_lock.hpp"
#include "leasehold/mutex.hpp"
#include "leasehold/once.hpp"
#include "leasehold/reaper.hpp"
#include "leasehold/semaphore.hpp"
#include "leasehold/shared_mutex.hpp"
#include "locks/hold_store.hpp"
#include "locks/holder_store.hpp"
#include "session/session_store.hpp"
#include "support/calm.hpp"
#include "support/eventually.hpp"
#include "support/thread.hpp"
#include "upkeep/doctor.hpp"
#include "upkeep/place.hpp"

namespace leasehold::testing {
namespace {

using namespace std::chrono_literals;

database migrated(const place& here) {
    database db = here.open();
    migrate(db);
    return db;
}

class grant_history_test : public ::testing::Test {
protected:
    // Session rows without a process: they live as long as they were begun for.
    session_id begin(std::chrono::microseconds ttl) {
        const session_id id = session_id::random();
        db_.inner()->use([&](connection& on, store_set& stores) {
            stores.get<session_store>().start(on, {id, "silent@host:1", ttl});
        });
        return id;
    }
    void expire(const session_id& id) {
        db_.inner()->use([&](connection& on, store_set& stores) {
            stores.get<session_store>().end(on, id, std::nullopt);
        });
    }
    hold take(const key& name, const session_id& by) {
        const acquire_request wanted{name, owner_id::random(), by, "silent@host:1", {}};
        return db_.inner()->use([&](connection& on, store_set& stores) {
            return hold{name, wanted.owner, stores.get<hold_store>().try_acquire(on, wanted).token};
        });
    }
    void take_and_release(const key& name) {
        auto held = mutex{one_, name}.try_acquire();
        ASSERT_TRUE(held);
        held->release();
    }
    grant_record last_of(const key& name) const {
        const auto found = list_grants_of(db_, name);
        return found.empty() ? grant_record{} : found.front();
    }
    std::vector<std::pair<std::int64_t, grant_ending>> endings_of(const key& name) const {
        std::vector<std::pair<std::int64_t, grant_ending>> all;
        for (const grant_record& each : list_grants_of(db_, name)) {
            all.emplace_back(each.token.number, each.ending);
        }
        return all;
    }
    // An assignment that makes what a column says so long ago.
    std::string minus(const std::string& column, int minutes) const {
        const std::string by = is(engine::postgres)
                                   ? "interval '" + std::to_string(minutes) + " minutes'"
                                   : std::to_string(minutes) + " * 60000000";
        return column + " = " + column + " - " + by;
    }
    void change(const std::string& statement) const { run_in(db_, {statement}); }
    bool is(engine which) const { return db_.server().engine == which; }

    const place here_;
    const database db_ = migrated(here_);
    session one_{db_, calm("one")}, other_{db_, calm("other")};
    const key name_{"a/key"};
};

TEST_F(grant_history_test, is_off_at_first_and_then_nothing_is_written) {
    EXPECT_FALSE(grant_history_state(db_).is_on);
    EXPECT_EQ(grant_history_state(db_).keep, std::chrono::hours{24 * 30});
    const auto before = here_.shape();
    take_and_release(name_);
    EXPECT_TRUE(list_grants(db_).empty());
    enable_grant_history(db_);
    EXPECT_NE(here_.shape(), before) << "triggers are not seen";
    take_and_release(name_);
    disable_grant_history(db_);
    EXPECT_EQ(here_.shape(), before) << "something was left";
    take_and_release(name_);
    EXPECT_EQ(endings_of(name_), (std::vector{std::pair{std::int64_t{2}, grant_ending::released}}));
    EXPECT_FALSE(grant_history_state(db_).is_on);
}

TEST_F(grant_history_test, says_who_and_for_how_long) {
    enable_grant_history(db_, 90min);
    enable_grant_history(db_);
    EXPECT_EQ(grant_history_state(db_).keep, 90min) << "it is as before where it is not given";
    auto held = mutex{one_, name_, {.metadata = "words of ours"}}.try_acquire();
    ASSERT_TRUE(held);
    EXPECT_TRUE(list_grants(db_).empty()) << "it has not ended";
    std::optional<lock_info> seen;
    eventually([&] { return (seen = describe(db_, name_))->held_for >= 20ms; });
    held->release();
    const grant_record said = last_of(name_);
    EXPECT_EQ(said.key, name_.name());
    EXPECT_EQ(said.token, held->token());
    EXPECT_EQ(said.node_info, seen->node_info);
    EXPECT_EQ(said.metadata, "words of ours");
    EXPECT_EQ(said.kind, lock_kind::mutex);
    EXPECT_EQ(said.mode, hold_mode::exclusive);
    EXPECT_EQ(said.ending, grant_ending::released);
    ASSERT_TRUE(said.held_for);
    EXPECT_GE(*said.held_for, seen->held_for);
    EXPECT_LE(*said.held_for, seen->held_for + 10s);
    EXPECT_GE(said.ended_ago, -10ms) << "SQLite's triggers know the time to the millisecond";
    EXPECT_LE(said.ended_ago, 10s);
}

TEST_F(grant_history_test, what_a_dead_session_had_has_ended_with_it) {
    enable_grant_history(db_);
    const session_id taken_from = begin(1h), reaped = begin(1h);
    take(name_, taken_from);
    const key cleaned{"cleaned"};
    take(cleaned, reaped);
    expire(taken_from);
    expire(reaped);
    auto next = mutex{one_, name_}.try_acquire();
    ASSERT_TRUE(next);
    EXPECT_EQ(reap(db_).locks_freed, 1);
    for (const key& each : {name_, cleaned}) {
        const grant_record said = last_of(each);
        EXPECT_EQ(said.ending, grant_ending::expired) << each.name();
        EXPECT_EQ(said.node_info, "silent@host:1");
        EXPECT_LT(said.held_for.value(), 10s) << "until it died, not until it was taken";
    }
}

TEST_F(grant_history_test, a_fixed_term_ends_when_it_is_over) {
    enable_grant_history(db_);
    auto held = mutex{one_, name_, {.fixed_term = 1h}}.try_acquire();
    ASSERT_TRUE(held);
    // Granted two hours ago, for one and a half.
    change(
        "UPDATE leasehold_lock SET " + minus("changed_at", 120) + ", " + minus("expires_at", 90)
    );
    auto next = mutex{other_, name_}.try_acquire();
    ASSERT_TRUE(next);
    const grant_record said = last_of(name_);
    EXPECT_EQ(said.ending, grant_ending::expired);
    EXPECT_GE(said.held_for.value(), 90min);
    EXPECT_LT(said.held_for.value(), 91min) << "it was over at its end, whenever it was taken";
    EXPECT_GE(said.ended_ago, 30min - 10ms);
    EXPECT_LT(said.ended_ago, 31min);
}

TEST_F(grant_history_test, what_is_freed_by_force_was_forced) {
    enable_grant_history(db_);
    const key shared{"shared"};
    auto held = mutex{one_, name_}.try_acquire();
    auto reader = shared_mutex{one_, shared}.try_acquire_shared();
    auto other_reader = shared_mutex{other_, shared}.try_acquire_shared();
    ASSERT_TRUE(held && reader && other_reader);
    ASSERT_TRUE(force_release(db_, name_));
    ASSERT_TRUE(force_release(db_, shared));
    EXPECT_EQ(last_of(name_).ending, grant_ending::forced);
    const auto readers = list_grants_of(db_, shared);
    ASSERT_EQ(readers.size(), 2U);
    for (const auto& each : readers) EXPECT_EQ(each.ending, grant_ending::forced);
    // A later holder has let go by itself.
    auto next = shared_mutex{other_, shared}.try_acquire_shared();
    ASSERT_TRUE(next);
    next->release();
    EXPECT_EQ(last_of(shared).ending, grant_ending::released);
}

TEST_F(grant_history_test, a_key_that_is_handed_over_was_let_go) {
    enable_grant_history(db_);
    auto held = mutex{one_, name_}.try_acquire();
    ASSERT_TRUE(held);
    std::atomic<bool> has_it{false};
    thread waiting{[&] {
        auto got = mutex{other_, name_}.acquire_for(20s);
        has_it = static_cast<bool>(got);
    }};
    ASSERT_TRUE(eventually([&] { return list_waiters(db_, name_).size() == 1; }));
    held->release();
    ASSERT_TRUE(eventually([&] { return has_it.load(); }));
    waiting.join();
    EXPECT_EQ(
        endings_of(name_),
        (std::vector{
            std::pair{std::int64_t{2}, grant_ending::released},
            std::pair{std::int64_t{1}, grant_ending::released}})
    );
}

TEST_F(grant_history_test, has_those_who_share_a_key) {
    enable_grant_history(db_);
    const key shared{"shared"}, pool{"pool"};
    shared_mutex lock{one_, shared};
    auto held = lock.try_acquire_upgradeable();
    ASSERT_TRUE(held);
    auto written = lock.try_upgrade(std::move(*held));
    ASSERT_TRUE(written);
    lock.downgrade(*written);
    written->release();
    const auto found = list_grants_of(db_, shared);
    ASSERT_EQ(found.size(), 2U) << "a downgrade is no other grant";
    EXPECT_EQ(found[1].ending, grant_ending::replaced);
    EXPECT_EQ(found[1].mode, hold_mode::upgradeable);
    EXPECT_EQ(found[0].ending, grant_ending::released);
    EXPECT_EQ(found[0].kind, lock_kind::shared_mutex);
    auto permits = semaphore{one_, pool, 5}.try_acquire(3);
    ASSERT_TRUE(permits);
    permits->release();
    EXPECT_EQ(last_of(pool).permits, 3);
    EXPECT_EQ(last_of(pool).kind, lock_kind::semaphore);
    EXPECT_TRUE(last_of(pool).held_for);
}

TEST_F(grant_history_test, a_dead_one_of_several_has_expired) {
    enable_grant_history(db_);
    const session_id silent = begin(1h);
    db_.inner()->use([&](connection& on, store_set& stores) {
        const holder_request wanted{
            .key = name_,
            .owner = owner_id::random(),
            .session = silent,
            .node_info = "silent@host:1",
            .mode = hold_mode::exclusive,
            .instead_of = {}};
        stores.get<holder_store>().try_acquire(on, wanted);
    });
    expire(silent);
    auto next = shared_mutex{one_, name_}.try_acquire();
    ASSERT_TRUE(next);
    reap(db_);
    EXPECT_EQ(endings_of(name_), (std::vector{std::pair{std::int64_t{1}, grant_ending::expired}}));
}

// SQLite's triggers know the boot's clock by what the clean-up has noted of the machine's.
TEST_F(grant_history_test, after_the_date_was_put_back_nobody_held_for_less_than_nothing) {
    if (!is(engine::sqlite)) return;
    enable_grant_history(db_);
    auto held = semaphore{one_, name_, 1}.try_acquire();
    ASSERT_TRUE(held);
    change("UPDATE leasehold_grant_history_rule SET clock_offset = clock_offset + 3600000000");
    held->release();
    EXPECT_EQ(endings_of(name_), (std::vector{std::pair{std::int64_t{1}, grant_ending::released}}));
    EXPECT_FALSE(last_of(name_).held_for);
}

TEST_F(grant_history_test, has_sets_of_keys_and_tasks_but_no_places) {
    enable_grant_history(db_);
    auto set = multi_lock{one_, {key{"set/1"}, key{"set/2"}}}.try_acquire();
    ASSERT_TRUE(set);
    set->release();
    once task{one_, key{"task"}, schedule::every(1h)};
    auto run = task.start();
    ASSERT_TRUE(run);
    EXPECT_EQ(run->finish(), finish_outcome::recorded);
    latch door{one_, key{"door"}, 1};
    auto place = door.try_join();
    ASSERT_TRUE(place);
    door.arrive(std::move(*place));
    std::vector<std::string> keys;
    for (const auto& each : list_grants(db_)) keys.push_back(each.key);
    std::sort(keys.begin(), keys.end());
    EXPECT_EQ(keys, (std::vector<std::string>{"set/1", "set/2", "task"}));
}

// A fail-over that has lost commits leads to this: nobody may be kept from letting go.
TEST_F(grant_history_test, of_a_token_that_is_given_twice_the_newer_grant_counts) {
    enable_grant_history(db_);
    take_and_release(name_);
    change("DELETE FROM leasehold_lock");
    auto held = mutex{other_, name_, {.metadata = "newer"}}.try_acquire();
    ASSERT_TRUE(held);
    EXPECT_EQ(held->token().number, 1);
    held->release();
    EXPECT_EQ(list_grants_of(db_, name_).size(), 1U);
    EXPECT_EQ(last_of(name_).metadata, "newer");
}

TEST_F(grant_history_test, each_of_many_grants_is_in_it_once) {
    enable_grant_history(db_);
    constexpr int threads = 4, rounds = 25;
    std::atomic<int> granted{0};
    {
        std::vector<thread> all;
        for (int number = 0; number < threads; ++number) {
            all.emplace_back([&, number] {
                session& mine = number % 2 == 0 ? one_ : other_;
                for (int round = 0; round < rounds; ++round) {
                    auto got = mutex{mine, name_}.acquire_for(60s);
                    ASSERT_TRUE(got);
                    ++granted;
                }
            });
        }
    }
    ASSERT_EQ(granted, threads * rounds);
    const auto found = list_grants_of(db_, name_, {.limit = 1'000});
    ASSERT_EQ(found.size(), static_cast<std::size_t>(granted));
    for (std::size_t at = 0; at < found.size(); ++at) {
        EXPECT_EQ(found[at].token.number, granted - static_cast<std::int64_t>(at));
    }
}

TEST_F(grant_history_test, is_listed_as_it_was_asked_for) {
    enable_grant_history(db_);
    // SQLite's triggers tell the time in milliseconds: each ends in one of its own.
    for (const char* each : {"b/1", "a/1", "b/2", "a/2", "b/1"}) {
        take_and_release(key{each});
        ASSERT_TRUE(eventually([&] { return last_of(key{each}).ended_ago >= 2ms; }));
    }
    change("UPDATE leasehold_grant_history SET " + minus("ended_at", 60) + " WHERE token = 2");
    const auto listed = [&](const grant_filter& filter) {
        std::string all;
        for (const auto& each : list_grants(db_, filter)) {
            all += each.key + " " + std::to_string(each.token.number) + "; ";
        }
        return all;
    };
    EXPECT_EQ(listed({}), "a/2 1; b/2 1; a/1 1; b/1 1; b/1 2; ");
    EXPECT_EQ(listed({.prefix = "b/"}), "b/2 1; b/1 1; b/1 2; ");
    EXPECT_EQ(listed({.prefix = "b/", .ended_within = 1min}), "b/2 1; b/1 1; ");
    EXPECT_EQ(listed({.limit = 2}), "a/2 1; b/2 1; ");
    EXPECT_EQ(list_grants_of(db_, key{"b/1"}).front().token.number, 2);
    EXPECT_EQ(list_grants_of(db_, key{"b/1"}, {.ended_within = 1min}).size(), 1U);
    EXPECT_TRUE(list_grants_of(db_, key{"b"}).empty());
    EXPECT_THROW(list_grants(db_, {.limit = 0}), error);
    EXPECT_THROW(list_grants(db_, {.limit = 100'001}), error);
    EXPECT_THROW(list_grants(db_, {.ended_within = -1s}), error);
    EXPECT_THROW(list_grants(db_, {.prefix = "\xff"}), error);
    EXPECT_THROW(enable_grant_history(db_, 59s), error);
    EXPECT_THROW(enable_grant_history(db_, std::chrono::hours{24 * 366 * 101}), error);
}

// Otherwise all callers that want a key would wait behind it, and on MySQL and MariaDB a wait that
// was too long would leave some triggers out.
TEST_F(grant_history_test, to_keep_it_for_another_time_waits_for_nobody) {
    if (is(engine::sqlite)) return;  // where a writer waits for all others
    enable_grant_history(db_);
    transaction open = db_.begin();
    open.execute("SELECT fence FROM leasehold_lock");
    open.execute("SELECT fence FROM leasehold_holder");
    enable_grant_history(db_, 90min);
    EXPECT_EQ(grant_history_state(db_).keep, 90min);
    open.rollback();
    take_and_release(name_);
    EXPECT_EQ(list_grants(db_).size(), 1U);
}

TEST_F(grant_history_test, what_was_kept_for_long_enough_goes_with_the_clean_up) {
    enable_grant_history(db_, 1h);
    for (int number = 0; number < 24; ++number) take_and_release(key{std::to_string(number)});
    change("UPDATE leasehold_grant_history SET " + minus("ended_at", 120));
    take_and_release(key{"young"});
    disable_grant_history(db_);
    EXPECT_EQ(reap(db_, {.max_rows_per_step = 10}).grants_removed, 24);
    const auto left = list_grants(db_);
    ASSERT_EQ(left.size(), 1U);
    EXPECT_EQ(left[0].key, "young");
    EXPECT_EQ(reap(db_).grants_removed, 0);
    // A grant that is kept for a shorter time than before is old by the new time.
    enable_grant_history(db_, 1min);
    change("UPDATE leasehold_grant_history SET " + minus("ended_at", 2));
    EXPECT_EQ(reap(db_).grants_removed, 1);
}

TEST_F(grant_history_test, a_session_that_cleans_up_removes_it) {
    enable_grant_history(db_, 1min);
    take_and_release(name_);
    change("UPDATE leasehold_grant_history SET " + minus("ended_at", 2));
    session_settings settings = calm("cleaner");
    settings.begins_with_grant = false;
    settings.ttl = 30s;
    settings.heartbeat_every = 500ms;
    settings.reap_every = 1s;
    const session cleaner{db_, settings};
    EXPECT_TRUE(eventually([&] { return list_grants(db_).empty(); }));
}

// A heartbeat, or a slow commit, may have the session's row locked just then.
TEST_F(grant_history_test, an_end_waits_for_nobody_who_has_its_session_locked) {
    if (is(engine::sqlite)) return;  // where a writer has everything locked
    enable_grant_history(db_);
    const key shared{"shared"};
    auto alone = mutex{one_, name_}.try_acquire();
    auto beside = shared_mutex{one_, shared}.try_acquire_shared();
    ASSERT_TRUE(alone && beside);
    transaction open = db_.begin();
    open.execute("UPDATE leasehold_session SET notices = notices + 1");
    alone->release();
    beside->release();
    EXPECT_EQ(endings_of(name_).size(), 1U);
    EXPECT_EQ(endings_of(shared).size(), 1U);
    open.rollback();
}

TEST_F(grant_history_test, triggers_that_are_missing_are_noticed_and_made_again) {
    enable_grant_history(db_);
    EXPECT_FALSE(grant_history_state(db_).is_broken);
    change(
        is(engine::postgres) ? "DROP TRIGGER leasehold_grant_ended ON leasehold_lock"
                             : "DROP TRIGGER leasehold_grant_ended"
    );
    EXPECT_TRUE(grant_history_state(db_).is_broken);
    EXPECT_TRUE(find(diagnose(db_), "history_not_written"));
    take_and_release(name_);
    EXPECT_TRUE(list_grants(db_).empty());
    enable_grant_history(db_);
    EXPECT_FALSE(grant_history_state(db_).is_broken);
    EXPECT_FALSE(find(diagnose(db_), "history_not_written"));
    take_and_release(name_);
    EXPECT_EQ(list_grants(db_).size(), 1U);
}

// A restore may leave the triggers out.
TEST_F(grant_history_test, that_all_triggers_are_missing_is_noticed) {
    enable_grant_history(db_);
    for (const auto& [trigger, table] :
         {std::pair{"grant_ended", "lock"},
          std::pair{"share_ended", "holder"},
          std::pair{"share_replaced", "holder"}}) {
        std::string statement = std::string{"DROP TRIGGER leasehold_"} + trigger;
        if (is(engine::postgres)) statement += std::string{" ON leasehold_"} + table;
        change(statement);
    }
    EXPECT_TRUE(grant_history_state(db_).is_broken);
    disable_grant_history(db_);
    EXPECT_FALSE(grant_history_state(db_).is_broken);
}

TEST_F(grant_history_test, goes_with_the_tables) {
    enable_grant_history(db_);
    take_and_release(name_);
    one_.end();
    other_.end();
    migrate_down(db_, 12);
    EXPECT_FALSE(std::ranges::any_of(here_.shape(), [](const std::string& line) {
        return line.find("ended") != std::string::npos && line.find("grant") != std::string::npos;
    }));
    migrate(db_);
    EXPECT_FALSE(grant_history_state(db_).is_on);
    migrate_down(db_, 0);
}

}  // namespace
}  // namespace leasehold::testing
