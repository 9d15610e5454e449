// The reaper: tables stay small, tokens go on growing, nobody alive is touched.

#include <algorithm>
#include <map>

#include "conformance/suite.hpp"
#include "database/schema_store.hpp"
#include "leasehold/fence_file.hpp"
#include "leasehold/lockable.hpp"
#include "leasehold/multi_lock.hpp"
#include "leasehold/reaper.hpp"
#include "leasehold/semaphore.hpp"
#include "locks/waiter_store.hpp"
#include "session/reaper.hpp"
#include "session/upkeep_store.hpp"
#include "support/clean_up.hpp"
#include "support/granted.hpp"
#include "support/thread.hpp"

namespace leasehold::testing {
namespace {

using upkeep_suite = suite;

TEST_F(upkeep_suite, the_reaper_frees_what_the_dead_held_and_removes_their_rows_later) {
    session dead{first_, calm("dead")}, alive{second_, calm("alive")};
    const key lost = fresh("lost"), kept = fresh("kept");
    auto a = mutex{dead, lost}.try_acquire();
    auto b = mutex{alive, kept}.try_acquire();
    expire(dead);
    auto report = reap(second_, {.session_retention = 24h});
    EXPECT_GE(report.locks_freed, 1);
    EXPECT_FALSE(describe(second_, lost)->is_held);
    EXPECT_TRUE(describe(second_, kept)->is_held);
    const auto is_listed = [&] {
        for (const auto& each : list_sessions(second_)) {
            if (each.id == dead.id()) return true;
        }
        return false;
    };
    current().age_session(dead.id(), 10min);
    reap(second_, {.session_retention = 24h});
    EXPECT_TRUE(is_listed()) << "kept so that what it sent last finds it dead";
    reap(second_, {.session_retention = 1min});
    EXPECT_FALSE(is_listed());
    EXPECT_TRUE(b->verify());
    EXPECT_EQ(a->release(), release_outcome::not_held);
}

// The hold that closes a key for its lock_delay is there, although there is nothing to clear yet.
TEST_F(upkeep_suite, a_session_is_not_old_while_it_keeps_a_key_closed) {
    session dead{first_, calm("dead")}, alive{second_, calm("alive")};
    const key name = fresh("k");
    second_.inner()->use([&](connection& on, store_set& stores) {
        acquire_request wanted{name, owner_id::random(), dead.id(), "", std::nullopt};
        wanted.lock_delay = 20h;
        EXPECT_EQ(stores.get<hold_store>().try_acquire(on, wanted).status, acquire_status::granted);
        // Little more than its ttl: SQLite's clock began when the machine did, perhaps just now.
        current().age_session(dead.id(), 1h + 1min);
        for (const auto task :
             {upkeep_task::dead_locks,
              upkeep_task::dead_holders,
              upkeep_task::dead_waiters,
              upkeep_task::old_sessions,
              upkeep_task::dead_locks}) {
            clean_up(on, stores, task, 30s);
        }
    });
    EXPECT_FALSE(is_granted(mutex{alive, name}.try_acquire())) << "it is closed for 20 hours";
    EXPECT_TRUE(force_release(second_, name)) << "or no other test could remove sessions";
}

TEST_F(upkeep_suite, the_reaper_frees_a_fixed_term_that_passed_and_no_other) {
    session one{first_, calm("one")};
    const key over = fresh("over"), running = fresh("running");
    auto a = mutex{one, over, {.fixed_term = 10min}}.try_acquire();
    auto b = mutex{one, running, {.fixed_term = 10min}}.try_acquire();
    current().age_lock(over, 11min);
    reap(second_);
    EXPECT_FALSE(describe(second_, over)->is_held);
    EXPECT_TRUE(describe(second_, running)->is_held);
}

// A hold whose session row is gone counts as alive for a taker; the reaper, which looks at both in
// one snapshot, frees it.
TEST_F(upkeep_suite, the_reaper_frees_a_hold_whose_session_row_is_gone) {
    session gone{first_, calm("gone")}, other{second_, calm("other")};
    const key name = fresh("k");
    auto held = mutex{gone, name}.try_acquire();
    current().remove_session_row(gone.id());
    reap(second_);
    auto next = mutex{other, name}.try_acquire();
    EXPECT_GT(token_of(next), token_of(held));
}

// Promise 2, across removal of the row: ShedLock's issue 982 without its price.
TEST_F(upkeep_suite, tokens_go_on_growing_after_an_idle_row_was_removed) {
    session one{first_, calm("one")};
    const key busy = fresh("busy"), other = fresh("other"), fresh_key = fresh("fresh");
    std::int64_t highest = 0;
    for (int each = 0; each < 50; ++each) {
        auto held = mutex{one, busy}.try_acquire();
        highest = token_of(held);
    }
    { auto held = mutex{one, other}.try_acquire(); }
    current().age_lock(busy, 240h);
    const auto report = reap(second_);
    EXPECT_GE(report.locks_removed, 1);
    EXPECT_FALSE(describe(second_, busy));
    EXPECT_TRUE(describe(second_, other)) << "idle for less than the retention";
    auto again = mutex{one, busy}.try_acquire();
    EXPECT_GT(token_of(again), highest);
    auto never_seen = mutex{one, fresh_key}.try_acquire();
    EXPECT_GT(token_of(never_seen), highest);
}

TEST_F(upkeep_suite, a_held_row_is_never_removed_however_old) {
    session one{first_, calm("one")};
    const key name = fresh("k");
    auto held = mutex{one, name}.try_acquire();
    current().age_lock(name, 1000h);
    reap(second_);
    EXPECT_TRUE(held->verify());
}

// Takers, releasers and reapers of the same keys at once: every token greater than the last.
TEST_F(upkeep_suite, reaping_races_with_granting_and_no_token_goes_backwards) {
    constexpr int keys = 4, rounds = 40;
    const std::string stem = fresh("race");
    std::atomic<bool> done = false;
    thread reaper{[&] {
        while (!done) {
            for (int each = 0; each < keys; ++each) {
                const key name = stem + std::to_string(each);
                try {
                    if (describe(second_, name)) current().age_lock(name, 240h);
                } catch (const std::exception&) {
                    continue;  // removed meanwhile
                }
            }
            reap(second_);
        }
    }};
    std::vector<thread> takers;
    for (int each = 0; each < keys; ++each) {
        takers.emplace_back([&, each] {
            database own = current().open({});
            session mine{own, calm("taker")};
            mutex contended{mine, stem + std::to_string(each), {.min_poll = 1ms, .max_poll = 5ms}};
            std::int64_t last = 0;
            for (int round = 0; round < rounds; ++round) {
                auto held = contended.acquire();
                EXPECT_GT(token_of(held), last);
                last = token_of(held);
                held->release();
            }
        });
    }
    takers.clear();
    done = true;
}

// A program that is in a proof may stay there for long.
TEST_F(upkeep_suite, what_somebody_has_locked_keeps_nothing_behind_it_from_clean_up) {
    if (!current().has_concurrent_writers) GTEST_SKIP() << "nobody can have locked one row there";
    session dead{first_, calm("dead")}, heir{second_, calm("heir")};
    const std::string stem = fresh("k");
    const key locked = stem + "/a", behind = stem + "/b";
    auto a = mutex{dead, locked}.try_acquire();
    auto b = mutex{dead, behind}.try_acquire();
    for (const key& each : {locked, behind}) {
        const acquire_request wanted{each, owner_id::random(), heir.id(), "heir", {}};
        second_.inner()->use([&](connection& on, store_set& stores) {
            EXPECT_EQ(
                stores.get<waiter_store>().enqueue(on, wanted).status, enqueue_status::waiting
            );
        });
    }
    transaction tx = first_.begin();
    a->verify_in(tx);
    expire(dead);
    reap(second_, {.max_rows_per_step = 1});
    EXPECT_EQ(describe(second_, behind)->session, heir.id()) << "handed over to who waits";
    EXPECT_NE(describe(second_, locked)->session, heir.id());
    tx.rollback();
    reap(second_, {.max_rows_per_step = 1});
    EXPECT_EQ(describe(second_, locked)->session, heir.id());
}

// Somebody has the turn's row in the clean-up's own table locked. The next clean-up goes on as if
// nothing had been.
TEST_F(upkeep_suite, a_turn_that_somebody_keeps_for_himself_ends_the_clean_up_and_is_reported) {
    // Nobody can have locked one row there.
    if (!current().has_concurrent_writers || current().name == "memory") return;
    database_settings settings;
    settings.statement_timeout = 1s;
    const database hasty = current().open(settings);
    transaction tx = first_.begin();
    connection& inside = transaction_ref{tx}.inside();
    seize_turn(inside, first_.inner()->store_for(inside), upkeep_task::dead_waiters);
    // InnoDB looks for waits that are over once a second: a client may have given up by then.
    const auto reaped = [&](const reap_settings& how) {
        for (int late = 0; late < 3; ++late) {
            reap_report found;
            if (!thrown_by([&] { found = reap(hasty, how); })) return found;
        }
        return reap(hasty, how);
    };
    const auto report = reaped({});
    EXPECT_FALSE(report.is_complete);
    EXPECT_GE(report.rows_left, 1);
    const auto soon = reaped({.timeout = 100ms});
    EXPECT_FALSE(soon.is_complete);
    tx.rollback();
    EXPECT_TRUE(reap(hasty).is_complete);
}

TEST_F(upkeep_suite, a_session_stays_while_anything_of_it_is_left_and_the_report_says_so) {
    session dead{first_, calm("dead")};
    const key name = fresh("k");
    auto held = mutex{dead, name}.try_acquire();
    const auto is_listed = [&] {
        const auto all = list_sessions(second_);
        return std::ranges::count(all, dead.id(), &session_info::id) > 0;
    };
    const reap_settings soon{.session_retention = 60s};
    if (current().has_concurrent_writers) {
        transaction tx = first_.begin();
        held->verify_in(tx);
        expire(dead);
        const auto report = reap(second_, soon);
        EXPECT_GE(report.rows_left, 1);
        EXPECT_TRUE(report.is_complete);
        EXPECT_TRUE(is_listed()) << "its hold is there still";
        tx.rollback();
    }
    expire(dead);
    const auto report = reap(second_, soon);
    EXPECT_EQ(report.rows_left, 0);
    EXPECT_GE(report.locks_freed, 1);
    EXPECT_GE(report.sessions_removed, 1);
    EXPECT_FALSE(is_listed());
}

// The queue goes with those who stood in it, also where nobody ever releases.
TEST_F(upkeep_suite, rows_of_dead_waiters_are_removed_and_those_of_the_living_are_not) {
    session one{first_, calm("one")}, dead{second_, calm("dead")}, other{second_, calm("other")};
    auto held = mutex{one, fresh("k")}.try_acquire();
    std::vector<waiter_id> queue;
    second_.inner()->use([&](connection& on, store_set& stores) {
        for (const session* each : {&dead, &other}) {
            const acquire_request wanted{held->key(), owner_id::random(), each->id(), "n", {}};
            const auto queued = stores.get<waiter_store>().enqueue(on, wanted);
            queue.push_back({wanted.key, wanted.owner, queued.ticket});
        }
    });
    expire(dead);
    reap(first_, {.session_retention = 24h});  // the session itself stays
    const auto seen = second_.inner()->use([&](connection& on, store_set& stores) {
        return stores.get<waiter_store>().look(on, queue);
    });
    EXPECT_EQ(seen.at(0).status, look_status::gone);
    EXPECT_EQ(seen.at(1).status, look_status::waiting);
}

// However many rows there are before it.
TEST_F(upkeep_suite, a_step_looks_at_few_rows_and_the_next_one_goes_on_behind_them) {
    constexpr int live = 40, rows = 7;
    session one{first_, calm("one")}, dead{second_, calm("dead")};
    const std::string stem = fresh("k");
    std::vector<acquisition> held;
    for (int each = 0; each < live; ++each) {
        held.push_back(mutex{one, stem + "/a" + std::to_string(each)}.try_acquire());
        held.push_back(semaphore{one, stem + "/s", live + 1}.try_acquire());
    }
    const key last = stem + "/z";
    auto lost = mutex{dead, last}.try_acquire();
    auto place = semaphore{dead, stem + "/s", live + 1}.try_acquire();
    expire(dead);
    first_.inner()->use([&](connection& on, store_set& stores) {
        for (const auto task : {upkeep_task::dead_locks, upkeep_task::dead_holders}) {
            upkeep_progress at = seize_turn(on, stores, task);
            std::size_t found = 0;
            // A look at everything says how many rows there are: an upper bound of the steps.
            const int max_steps = 2 * (static_cast<int>(list_locks(second_).size()) + 1000) / rows;
            int steps = 0;
            for (int ends = at.place.empty() ? 1 : 2; ends > 0; ++steps) {
                ASSERT_LT(steps, max_steps);
                const auto seen = stores.get<upkeep_store>().look(on, task, at.place, rows, 0us);
                ASSERT_LE(seen.found.size(), static_cast<std::size_t>(rows));
                ASSERT_TRUE(seen.place.empty() || seen.place != at.place);
                found += seen.found.size();
                ASSERT_TRUE(stores.get<upkeep_store>().advance(on, at, seen, true));
                at.place = progress_of(on, stores, task).place;
                ASSERT_EQ(at.place, seen.place) << "the database remembers it";
                if (at.place.empty()) --ends;
            }
            EXPECT_GE(found, task == upkeep_task::dead_locks ? 1U : 0U);
        }
    });
    reap(second_, {.max_rows_per_step = rows});
    EXPECT_FALSE(describe(first_, last)->is_held);
    EXPECT_EQ(list_locks(first_, stem).size(), held.size());
}

TEST_F(upkeep_suite, of_several_that_clean_up_one_has_the_turn_and_when_it_dies_another) {
    const auto task = upkeep_task::idle_locks;
    const auto use = [](const database& db, auto&& run) { return db.inner()->use(run); };
    const auto progress = [&](connection& on, store_set& in) { return progress_of(on, in, task); };
    const auto seen = use(first_, progress);
    const auto take = [&](std::chrono::microseconds every) {
        return [&, every](connection& on, store_set& in) {
            return in.get<upkeep_store>().begin_turn(on, seen, every);
        };
    };
    EXPECT_TRUE(use(first_, take(0us)));
    EXPECT_FALSE(use(second_, take(0us))) << "both saw the same";
    const auto taken = use(first_, progress);
    EXPECT_EQ(taken.turn, seen.turn + 1);
    EXPECT_EQ(taken.unfinished, seen.unfinished + 1);
    EXPECT_LT(taken.since_turn, 1h);
    const auto later = [&](connection& on, store_set& in) {
        return in.get<upkeep_store>().begin_turn(on, taken, 1h);
    };
    EXPECT_FALSE(use(second_, later)) << "not due";
    // The first one is never heard of again: the next one that finds it due goes on.
    const auto other = use(second_, [&](connection& on, store_set& in) {
        EXPECT_TRUE(in.get<upkeep_store>().begin_turn(on, taken, 0us));
        return progress_of(on, in, task);
    });
    EXPECT_EQ(other.unfinished, taken.unfinished + 1) << "and makes smaller steps";
    // Or the first one comes back, and its old look does not count.
    use(first_, [&](connection& on, store_set& in) {
        EXPECT_FALSE(in.get<upkeep_store>().advance(on, taken, {{}, "somewhere", {}}, false));
    });
    use(second_, [&](connection& on, store_set& in) {
        EXPECT_EQ(progress_of(on, in, task).place, other.place);
        EXPECT_TRUE(in.get<upkeep_store>().advance(on, other, {{}, "here", {}}, false));
        const auto advanced = progress_of(on, in, task);
        EXPECT_EQ(advanced.place, "here");
        EXPECT_EQ(advanced.unfinished, other.unfinished - 1);
        EXPECT_EQ(advanced.passes, other.passes);
        EXPECT_TRUE(in.get<upkeep_store>().advance(on, advanced, {}, false));
        EXPECT_EQ(progress_of(on, in, task).passes, other.passes + 1);
    });
}

// Its looks at one task take longer than they may.
class slow_upkeep final : public upkeep_store {
public:
    slow_upkeep(upkeep_store& with, upkeep_task at) : with_(with), at_(at) {}

    std::vector<upkeep_progress> progress(connection& on) override { return with_.progress(on); }
    bool begin_turn(connection& on, const upkeep_progress& seen, std::chrono::microseconds every)
        override {
        return with_.begin_turn(on, seen, every);
    }
    bool advance(connection& on, const upkeep_progress& from, const upkeep_look& look, bool leaves)
        override {
        return with_.advance(on, from, look, leaves);
    }
    upkeep_look look(
        connection& on,
        upkeep_task task,
        const std::string& place,
        int rows,
        std::chrono::microseconds retention
    ) override {
        if (task == at_) throw error(errc::timed_out, "it took " + std::to_string(rows) + " rows");
        return with_.look(on, task, place, rows, retention);
    }
    std::int64_t clear(
        connection& on,
        upkeep_task task,
        const std::vector<std::string>& places,
        std::chrono::microseconds retention
    ) override {
        return with_.clear(on, task, places, retention);
    }
    std::int64_t prune_history(connection& on, int max_rows) override {
        return with_.prune_history(on, max_rows);
    }

private:
    upkeep_store& with_;
    const upkeep_task at_;
};

TEST_F(upkeep_suite, a_task_that_is_always_too_slow_keeps_no_other_from_its_turn) {
    constexpr auto slow = upkeep_task::dead_locks;
    const database own = open();
    own.inner()->use([&](connection& on, store_set& stores) {
        for (const upkeep_progress& each : stores.get<upkeep_store>().progress(on)) {
            if (each.place.empty()) continue;
            while (!progress_of(on, stores, each.task).place.empty()) {
                clean_up(on, stores, each.task, 24h, 10'000);
            }
        }
        const auto passes = [&] {
            std::map<upkeep_task, std::int64_t> all;
            for (const auto& each : stores.get<upkeep_store>().progress(on))
                all[each.task] = each.passes;
            return all;
        };
        auto before = passes();
        const auto made = std::make_shared<slow_upkeep>(stores.get<upkeep_store>(), slow);
        auto inner = stores.put<upkeep_store>(made);
        std::vector<std::string> said;
        for (int turns = 0; turns < 6; ++turns) {
            const auto failure =
                thrown_by([&] { reap_in_turn(*own.inner(), on, stores, {}, 0us); });
            ASSERT_TRUE(failure);
            said.emplace_back(failure->what());
        }
        for (auto& [task, count] : before) {
            if (task == slow) continue;
            EXPECT_GE(passes()[task], count + 4) << name_of(task);
        }
        EXPECT_NE(said.front(), said.back()) << "its steps become smaller";
        stores.put<upkeep_store>(std::move(inner));
    });
    reap(own);  // the clean-up has a free way again
}

TEST_F(upkeep_suite, sessions_clean_up_by_themselves) {
    session dead{first_, calm("dead")};
    const key name = fresh("k");
    auto held = mutex{dead, name}.try_acquire();
    expire(dead);
    auto busy = alert("cleaner");
    busy.reap_every = 100ms;
    session cleaner{second_, busy}, other{second_, busy};
    EXPECT_TRUE(eventually([&] { return !describe(first_, name)->is_held; }));
}

TEST_F(upkeep_suite, bad_reap_settings_are_refused) {
    for (const auto& settings : {
             reap_settings{.max_rows_per_step = 0},
             reap_settings{.max_rows_per_step = 10'001},
             reap_settings{.session_retention = 59s},
             reap_settings{.lock_retention = -1s},
             reap_settings{.timeout = -1ms},
         }) {
        const auto failure = thrown_by([&] { reap(first_, settings); });
        ASSERT_TRUE(failure);
        EXPECT_EQ(failure->code(), errc::invalid_argument);
    }
}

}  // namespace
}  // namespace leasehold::testing
