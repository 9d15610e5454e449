// The doctor's findings about our own tables, on each engine: each finding is provoked.
#include "upkeep/doctor.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "admin/health_store.hpp"
#include "leasehold/error.hpp"
#include "leasehold/job_queue.hpp"
#include "leasehold/migrate.hpp"
#include "leasehold/mutex.hpp"
#include "leasehold/reaper.hpp"
#include "leasehold/semaphore.hpp"
#include "locks/hold_store.hpp"
#include "locks/holder_store.hpp"
#include "session/session_store.hpp"
#include "support/calm.hpp"

namespace leasehold::testing {
namespace {

using namespace std::chrono_literals;

class doctor_test : public ::testing::Test {
protected:
    doctor_test() { migrate(db_); }

    // A session that sends no heartbeat, and what it holds.
    session_id silent(std::chrono::milliseconds ttl, const key& name, std::chrono::hours delay) {
        const session_id id = session_id::random();
        db_.inner()->use([&](connection& on, store_set& stores) {
            stores.get<session_store>().start(on, {id, "silent@host:1", ttl});
            const acquire_request wanted{name, owner_id::random(), id, "silent@host:1", {}, delay};
            const auto got = stores.get<hold_store>().try_acquire(on, wanted);
            EXPECT_EQ(got.status, acquire_status::granted);
        });
        return id;
    }
    std::optional<finding> soon_of_key(const key& name, std::string_view what) {
        std::optional<finding> found;
        eventually([&] {
            return (found = find(diagnose_key(db_, name).findings, what)).has_value();
        });
        return found;
    }

    const place here_;
    const database db_ = here_.open();
};

TEST_F(doctor_test, new_tables_are_well) {
    const auto all = diagnose(db_);
    EXPECT_TRUE(find(all, "server"));
    EXPECT_TRUE(find(all, "heartbeats"));
    for (const char* each :
         {"schema_missing",
          "schema_version",
          "schema_drift",
          "missing_rights",
          "not_looked_at",
          "other_installation",
          "stuck_session",
          "clean_up_behind",
          "history_not_written",
          "held_long",
          "slow_queue",
          "paused_queue",
          "unsuitable",
          "clock"}) {
        EXPECT_FALSE(find(all, each)) << names_of(all);
    }
}

// If this fails, schema/<engine>.sql differs from the migrations, or has a form that
// src/cmake/embed_shape.cmake does not understand.
TEST_F(doctor_test, it_knows_what_the_migrations_make) {
    db_.inner()->use_unchecked([](connection& on, store_set& stores) {
        EXPECT_EQ(stores.get<health_store>().known_shape(), stores.get<health_store>().shape(on));
    });
}

TEST_F(doctor_test, tables_that_were_changed_are_drift) {
    for (const std::string& statement : place::drifts()) {
        const place other;
        migrate(other.open());
        run_in(other.open(), {statement});
        const auto found = find(diagnose(other.open()), "schema_drift");
        ASSERT_TRUE(found) << statement;
        EXPECT_NE(found->severity, severity::good);
        EXPECT_NE(found->what.find("leasehold_"), std::string::npos) << found->what;
    }
}

TEST_F(doctor_test, no_tables_are_an_error_and_nothing_else_is_asked) {
    migrate_down(db_, 0);
    const auto all = diagnose(db_);
    ASSERT_TRUE(find(all, "schema_missing")) << names_of(all);
    EXPECT_EQ(worst_of(all), severity::error);
    EXPECT_FALSE(find(all, "not_looked_at")) << names_of(all);
    EXPECT_THROW(diagnose_key(db_, key{"k"}), error);
}

TEST_F(doctor_test, a_missing_migration_is_an_error) {
    migrate_down(db_, 5);
    const auto found = find(diagnose(db_), "schema_version");
    ASSERT_TRUE(found);
    EXPECT_EQ(found->severity, severity::error);
    EXPECT_NE(found->what.find("migration 6"), std::string::npos) << found->what;
}

TEST_F(doctor_test, an_edited_migration_is_an_error) {
    run_in(db_, {"UPDATE leasehold_migration SET checksum = 'edited' WHERE version = 3"});
    const auto found = find(diagnose(db_), "schema_version");
    ASSERT_TRUE(found);
    EXPECT_NE(found->what.find("migration 3"), std::string::npos) << found->what;
}

TEST_F(doctor_test, tables_of_another_name_are_told) {
    const database other = here_.open_named("other_");
    migrate(other);
    const auto found = find(diagnose(db_), "other_installation");
    ASSERT_TRUE(found);
    EXPECT_NE(found->what.find("'other_'"), std::string::npos) << found->what;
    EXPECT_FALSE(find(diagnose(db_), "schema_drift")) << "those are not ours";
}

// The test programs' tables in one database, for example.
TEST_F(doctor_test, tables_of_many_other_names_are_one_finding) {
    for (const char* each : {"a_", "b_", "c_", "d_", "e_"}) migrate(here_.open_named(each));
    const auto all = diagnose(db_);
    const auto counted = std::count_if(all.begin(), all.end(), [](const finding& each) {
        return each.name == "other_installation";
    });
    ASSERT_EQ(counted, 1);
    const std::string what = find(all, "other_installation")->what;
    EXPECT_NE(what.find("and 2 more"), std::string::npos) << what;
}

// A user who migrates then has two installations.
TEST_F(doctor_test, no_tables_beside_those_of_another_name_are_no_reason_to_migrate_at_once) {
    migrate_down(db_, 0);
    const auto alone = find(diagnose(db_), "schema_missing");
    ASSERT_TRUE(alone);
    EXPECT_TRUE(alone->remedy.starts_with("run `leasehold migrate`")) << alone->remedy;
    migrate(here_.open_named("other_"));
    const auto beside = find(diagnose(db_), "schema_missing");
    ASSERT_TRUE(beside);
    EXPECT_NE(beside->remedy.find("--table-prefix 'other_' doctor"), std::string::npos)
        << beside->remedy;
    EXPECT_FALSE(beside->remedy.starts_with("run `leasehold migrate`")) << beside->remedy;
}

TEST_F(doctor_test, an_overdue_heartbeat_is_told_while_the_session_lives) {
    silent(6s, key{"k"}, {});
    const auto found = soon_found(db_, "stuck_session");
    ASSERT_TRUE(found);
    EXPECT_NE(found->what.find("silent@host:1"), std::string::npos) << found->what;
    ASSERT_TRUE(soon_of_key(key{"k"}, "holder_silent"));
}

TEST_F(doctor_test, holds_of_the_dead_that_stay_are_told) {
    silent(3s, key{"k"}, {});
    const auto found = soon_found(db_, "clean_up_behind");
    ASSERT_TRUE(found);
    EXPECT_TRUE(found->what.starts_with("1 hold ")) << found->what;
    reap(db_);
    EXPECT_FALSE(find(diagnose(db_, strict()), "clean_up_behind"));
}

TEST_F(doctor_test, a_key_that_is_held_for_long_is_told_and_is_no_warning) {
    session one{db_, calm("keeper")};
    auto held = mutex{one, "k"}.try_acquire();
    const auto found = soon_found(db_, "held_long");
    ASSERT_TRUE(found);
    EXPECT_EQ(found->severity, severity::good);
    EXPECT_NE(found->what.find("'k' is held for"), std::string::npos) << found->what;
    EXPECT_NE(found->what.find("keeper@"), std::string::npos) << found->what;
}

TEST_F(doctor_test, a_key_that_several_hold_for_long_is_told_once) {
    session one{db_, calm("one")}, other{db_, calm("other")};
    auto first = semaphore{one, "s", 2}.try_acquire();
    auto second = semaphore{other, "s", 2}.try_acquire();
    ASSERT_TRUE(first && second);
    const auto all = [&] {
        std::vector<std::string> told;
        for (const finding& each : diagnose(db_, strict())) {
            if (each.name == "held_long") told.push_back(each.what);
        }
        return told;
    };
    ASSERT_TRUE(eventually([&] { return !all().empty(); }));
    ASSERT_EQ(all().size(), 1u);
    EXPECT_TRUE(all()[0].starts_with("'s' is held for ")) << all()[0];
    EXPECT_NE(all()[0].find(" by one@"), std::string::npos) << all()[0];
    EXPECT_FALSE(find(diagnose(db_), "held_long"));
}

TEST_F(doctor_test, a_dead_holder_among_several_is_told) {
    const session_id id = session_id::random();
    db_.inner()->use([&](connection& on, store_set& stores) {
        stores.get<session_store>().start(on, {id, "silent@host:1", 3s});
        const holder_request wanted{
            .key = key{"s"},
            .owner = owner_id::random(),
            .session = id,
            .node_info = "silent@host:1",
            .kind = lock_kind::semaphore,
            .capacity = 2,
            .instead_of = {}};
        const auto got = stores.get<holder_store>().try_acquire(on, wanted);
        EXPECT_EQ(got.status, holder_status::granted);
    });
    const auto found = soon_found(db_, "clean_up_behind");
    ASSERT_TRUE(found);
    EXPECT_TRUE(found->what.starts_with("1 hold ")) << found->what;
    reap(db_);
    EXPECT_FALSE(find(diagnose(db_, strict()), "clean_up_behind"));
}

TEST_F(doctor_test, a_job_that_nobody_takes_and_a_paused_queue_are_told) {
    const job_queue queue{db_, "mail"};
    queue.enqueue({.kind = "k"});
    const auto slow = soon_found(db_, "slow_queue");
    ASSERT_TRUE(slow);
    EXPECT_NE(slow->what.find("'mail'"), std::string::npos) << slow->what;
    queue.pause();
    const auto all = diagnose(db_, strict());
    EXPECT_TRUE(find(all, "paused_queue"));
    EXPECT_FALSE(find(all, "slow_queue")) << "it is for another reason";
}

TEST_F(doctor_test, a_key_tells_in_which_state_it_is) {
    EXPECT_TRUE(find(diagnose_key(db_, key{"never"}).findings, "never_locked"));
    session one{db_, calm("one")}, other{db_, calm("other")};
    auto held = mutex{one, "k"}.try_acquire();
    auto found = diagnose_key(db_, key{"k"});
    ASSERT_TRUE(find(found.findings, "held"));
    ASSERT_TRUE(found.session);
    EXPECT_EQ(found.session->id, one.id());
    EXPECT_EQ(found.holders.size(), 1u);
    held->release();
    EXPECT_TRUE(find(diagnose_key(db_, key{"k"}).findings, "free"));

    auto permit = semaphore{one, "s", 2}.try_acquire();
    auto more = semaphore{other, "s", 2}.try_acquire();
    found = diagnose_key(db_, key{"s"});
    EXPECT_EQ(found.holders.size(), 2u);
    EXPECT_NE(find(found.findings, "held")->what.find("and 1 more"), std::string::npos);
    EXPECT_EQ(worst_of(found.findings), severity::good);
}

TEST_F(doctor_test, a_key_tells_who_waits_for_it) {
    session one{db_, calm("one")}, other{db_, calm("waits")};
    auto held = mutex{one, "k"}.try_acquire();
    std::stop_source stop;
    std::jthread waiting{[&] {
        auto got = mutex{other, "k"}.acquire(stop.get_token());
        EXPECT_FALSE(got);
    }};
    const auto found = soon_of_key(key{"k"}, "waiters");
    stop.request_stop();
    ASSERT_TRUE(found);
    EXPECT_NE(found->what.find("waits@"), std::string::npos) << found->what;
    EXPECT_EQ(found->remedy, "leasehold unlock 'k' --ask asks the holder to let go");
}

TEST_F(doctor_test, a_key_whose_holder_died_tells_how_long_it_stays_closed) {
    silent(3s, key{"it's"}, 2h);
    const auto found = soon_of_key(key{"it's"}, "lock_delay");
    ASSERT_TRUE(found);
    EXPECT_EQ(found->severity, severity::warning);
    EXPECT_NE(found->what.find("min"), std::string::npos) << found->what;
}

TEST_F(doctor_test, the_transaction_that_keeps_a_key_closed_is_told) {
    session one{db_, calm("one")};
    const key name{"k"};
    auto held = mutex{one, name}.try_acquire();
    transaction proving = db_.begin();
    held->verify_in(proving);
    const database watcher = here_.open();
    std::optional<finding> found;
    ASSERT_TRUE(eventually([&] {
        return (found = find(diagnose_key(watcher, name).findings, "row_locked")).has_value();
    }));
    EXPECT_EQ(found->severity, severity::good) << "it is held, too";
    proving.rollback();
}

TEST_F(doctor_test, limits_out_of_range_are_refused) {
    diagnosis_settings settings;
    settings.held_longer_than = 0s;
    EXPECT_THROW(diagnose(db_, settings), error);
    settings = {};
    settings.connections_percent = 101;
    EXPECT_THROW(diagnose(db_, settings), error);
}

}  // namespace
}  // namespace leasehold::testing
