// The reaper and the views: tables stay small, tokens go on growing, nobody alive is touched.

#include "conformance/suite.hpp"
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

TEST_F(upkeep_suite, the_reaper_frees_a_fixed_term_that_passed_and_no_other) {
    session one{first_, calm("one")};
    const key over = fresh("over"), running = fresh("running");
    auto a = mutex{one, over, {.hold_at_most = 10min}}.try_acquire();
    auto b = mutex{one, running, {.hold_at_most = 10min}}.try_acquire();
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
            mutex contended{mine, stem + std::to_string(each), {.poll_min = 1ms, .poll_max = 5ms}};
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

TEST_F(upkeep_suite, bad_reap_settings_are_refused) {
    for (const auto& settings : {
             reap_settings{.batch_size = 0},
             reap_settings{.batch_size = 10'001},
             reap_settings{.session_retention = 59s},
             reap_settings{.lock_retention = -1s},
             reap_settings{.time_max = -1ms},
         }) {
        const auto failure = thrown_by([&] { reap(first_, settings); });
        ASSERT_TRUE(failure);
        EXPECT_EQ(failure->code(), errc::invalid_argument);
    }
}

TEST_F(upkeep_suite, the_list_is_by_prefix_in_byte_order_and_only_of_what_is_held) {
    session one{first_, calm("one")};
    const std::string stem = fresh("list");
    std::vector<acquisition> held;
    for (const char* tail : {"/b", "/a", "/\xc3\xa4", "/%", "/_x", "/B"}) {
        held.push_back(mutex{one, stem + tail}.try_acquire());
    }
    { auto released = mutex{one, stem + "/gone"}.try_acquire(); }
    auto outside = mutex{one, stem + "x"}.try_acquire();
    std::vector<std::string> found;
    for (const auto& each : list_locks(second_, stem + "/")) {
        found.push_back(each.key.substr(stem.size()));
        EXPECT_TRUE(each.is_held);
        EXPECT_GE(each.held_for, 0us);
        EXPECT_EQ(each.session, one.id());
    }
    EXPECT_EQ(found, (std::vector<std::string>{"/%", "/B", "/_x", "/a", "/b", "/\xc3\xa4"}));
    EXPECT_EQ(list_locks(second_, stem + "/_").size(), 1u);
    EXPECT_EQ(list_locks(second_, stem + "/%").size(), 1u);
}

TEST_F(upkeep_suite, a_long_list_comes_whole) {
    session one{first_, calm("one")};
    const std::string stem = fresh("long");
    std::vector<acquisition> held;
    constexpr std::size_t count = 1203;  // more than a page
    for (std::size_t each = 0; each < count; ++each) {
        held.push_back(mutex{one, stem + std::to_string(each)}.try_acquire());
    }
    EXPECT_EQ(list_locks(second_, stem).size(), count);
}

TEST_F(upkeep_suite, describing_an_unknown_key_and_forcing_a_free_one_change_nothing) {
    EXPECT_FALSE(describe(first_, fresh("never")));
    EXPECT_FALSE(force_release(first_, fresh("never")));
    session one{first_, calm("one")};
    const key name = fresh("k");
    { auto held = mutex{one, name}.try_acquire(); }
    const auto before = describe(first_, name)->token;
    EXPECT_FALSE(force_release(first_, name));
    EXPECT_EQ(describe(first_, name)->token, before);
}

}  // namespace
}  // namespace leasehold::testing
