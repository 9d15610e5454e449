// lease.verify_in() in transactions above READ COMMITTED: lease.hpp's promises for each engine.
#include "claim/lock_suite.hpp"
#include "leasehold/inspect.hpp"
#include "leasehold/mutex.hpp"
#include "support/thread.hpp"

namespace leasehold::testing {
namespace {

class proof_suite : public lock_suite {
protected:
    // Begins with a snapshot, if the level has one; null where there is no such transaction.
    std::unique_ptr<lent> begin_reading(begun how) {
        auto tx = begin(how);
        if (tx) tx->run("SELECT * FROM " + table_ + " WHERE id = 1");
        return tx;
    }

    static constexpr begun levels[] = {begun::plainly, begun::repeatable, begun::serializable};
};

TEST_P(proof_suite, it_passes_at_every_level) {
    for (const begun how : levels) {
        auto held = mutex{*one_, name_}.try_acquire();
        ASSERT_TRUE(held);
        const auto tx = begin_reading(how);
        if (!tx) continue;
        tx->run("UPDATE " + table_ + " SET note = 'proved' WHERE id = 1");
        held->verify_in(tx->ref());
        tx->commit();
        EXPECT_EQ(ask("note", 1), "proved");
    }
}

TEST_P(proof_suite, a_snapshot_older_than_the_grant_is_refused_on_postgres_alone) {
    if (!has_row_locks()) GTEST_SKIP() << "its transaction would keep the grant waiting";
    for (const begun how : levels) {
        const auto tx = begin_reading(how);
        if (!tx) continue;
        auto held = mutex{*one_, name_}.try_acquire();
        ASSERT_TRUE(held);
        const auto failure = thrown_by([&] { held->verify_in(tx->ref()); });
        if (is_postgres() && how != begun::plainly) {
            ASSERT_TRUE(failure);
            EXPECT_EQ(failure->code(), errc::lease_lost) << failure->what();
        } else {
            EXPECT_FALSE(failure) << failure->what();
        }
        tx->rollback();
    }
}

TEST_P(proof_suite, a_waiter_that_came_since_the_snapshot_ends_no_lease) {
    if (!has_row_locks()) GTEST_SKIP() << "the engine has one writer at a time";
    for (const begun how : levels) {
        auto held = mutex{*one_, name_}.try_acquire();
        ASSERT_TRUE(held);
        const auto tx = begin_reading(how);
        if (!tx) continue;
        thread waiting{[&] { (void)mutex(*two_, name_).acquire_for(60s); }};
        ASSERT_TRUE(eventually([&] { return describe(*locks_, name_)->waiters == 1; }));
        const auto failure = thrown_by([&] { held->verify_in(tx->ref()); });
        if (is_postgres() && how != begun::plainly) {
            ASSERT_TRUE(failure);
            EXPECT_EQ(failure->code(), errc::transient) << failure->what();
        } else {
            EXPECT_FALSE(failure) << failure->what();
        }
        tx->rollback();
        EXPECT_FALSE(held->lost().stop_requested());
        const auto again = begin_reading(how);
        held->verify_in(again->ref());
        again->rollback();
        held->release();
    }
}

INSTANTIATE_TEST_SUITE_P(on, proof_suite, ::testing::ValuesIn(way_names()), [](const auto& each) {
    return each.param;
});

}  // namespace
}  // namespace leasehold::testing
