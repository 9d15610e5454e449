// The statements of docs/proofs-from-other-languages.md at each isolation level of a server.
#include "conformance/proof_statement_suite.hpp"
#include "database/database.hpp"

namespace leasehold::testing {
namespace {

class proof_isolation_suite : public proof_statement_suite,
                              public ::testing::WithParamInterface<const char*> {
protected:
    // A transaction of the level of this test, whose first statement, where a snapshot begins, has
    // run.
    void begin() {
        const std::string level = std::string{" TRANSACTION ISOLATION LEVEL "} + GetParam();
        if (is_on(engine::postgres)) {
            on_->begin();
            on_->execute("SET" + level);
        } else {
            on_->execute("SET SESSION" + level);
            on_->execute("START TRANSACTION");
        }
        on_->execute("SELECT n FROM " + table("counter"));
    }
    bool is_proved_here(const told_lease& which) {
        return is_proved(*on_, page_.lock, which.values());
    }
    bool can_isolate() {
        if (is_on(engine::postgres)) return false;
        return !on_->execute("SHOW VARIABLES LIKE 'innodb_snapshot_isolation'").rows.empty();
    }
    bool has_snapshot() const { return std::string_view{GetParam()} != "READ COMMITTED"; }

    // The statement's SQLSTATE, and whether the transaction has to run anew.
    void expect_serialization_failure(const told_lease& which) {
        const auto thrown = thrown_by([&] { is_proved_here(which); });
        ASSERT_TRUE(thrown);
        EXPECT_EQ(thrown->sqlstate(), is_on(engine::postgres) ? "40001" : "HY000");
        EXPECT_TRUE(thrown->is_transient()) << thrown->what();
        on_->rollback();
    }

    lent_connection on_{first_.inner()->connections()};
    session heir_{second_, calm("heir")};
    const std::string name_ = fresh("k");
};

TEST_P(proof_isolation_suite, a_lock_that_was_held_before_is_proved_and_keeps_successors_out) {
    session dead{second_, calm("dead")};
    auto held = mutex{dead, name_}.try_acquire();
    begin();
    EXPECT_TRUE(is_proved_here(told_of(*held)));
    expire(dead);
    expect_kept_from(mutex{heir_, name_}, [&] { on_->commit(); });
}

// A plain read of the snapshot would still show the lock as held.
TEST_P(proof_isolation_suite, a_lock_that_was_lost_after_the_snapshot_is_not_proved) {
    session dead{second_, calm("dead")};
    auto held = mutex{dead, name_}.try_acquire();
    const told_lease told = told_of(*held);
    begin();
    expire(dead);
    auto taken = mutex{heir_, name_}.try_acquire();
    ASSERT_TRUE(taken);
    if (is_on(engine::postgres) && has_snapshot()) {
        expect_serialization_failure(told);
        begin();
    }
    EXPECT_FALSE(is_proved_here(told));
    on_->rollback();
}

TEST_P(proof_isolation_suite, a_lock_that_was_granted_after_the_snapshot) {
    for (const bool was_held_before : {false, true}) {
        const std::string name = fresh("k");
        if (was_held_before) {
            EXPECT_TRUE(is_granted(mutex{heir_, name}.try_acquire()));
        }
        begin();
        auto held = mutex{heir_, name}.try_acquire();
        EXPECT_EQ(is_proved_here(told_of(*held)), !is_on(engine::postgres) || !has_snapshot());
        on_->rollback();
    }
}

// MariaDB fails as PostgreSQL does if it is told to isolate snapshots.
TEST_P(proof_isolation_suite, a_lock_whose_row_changed_after_the_snapshot_is_proved_in_the_end) {
    auto held = mutex{heir_, name_}.try_acquire();
    for (const char* isolates : {"OFF", "ON"}) {
        if (can_isolate()) {
            on_->execute(std::string{"SET SESSION innodb_snapshot_isolation = "} + isolates);
        }
        const bool is_isolated = can_isolate() && std::string_view{isolates} == "ON";
        begin();
        EXPECT_TRUE(request_revoke(first_, name_));
        if (has_snapshot() && (is_on(engine::postgres) || is_isolated)) {
            expect_serialization_failure(told_of(*held));
            begin();
        }
        EXPECT_TRUE(is_proved_here(told_of(*held)));
        on_->rollback();
    }
}

INSTANTIATE_TEST_SUITE_P(
    levels,
    proof_isolation_suite,
    ::testing::Values("READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"),
    [](const auto& which) {
        std::string name = which.param;
        std::ranges::replace(name, ' ', '_');
        return name;
    }
);

}  // namespace
}  // namespace leasehold::testing
