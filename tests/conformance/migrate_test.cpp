// Making, checking and removing leasehold's own tables, each test on tables of its own; none leaves
// anything behind.
#include <algorithm>
#include <barrier>

#include "conformance/migrate_suite.hpp"
#include "leasehold/barrier.hpp"
#include "leasehold/migrate.hpp"
#include "leasehold/reaper.hpp"
#include "leasehold/semaphore.hpp"
#include "session/session_store.hpp"
#include "sql/sql_text.hpp"
#include "support/granted.hpp"
#include "support/thread.hpp"

namespace leasehold::testing {
namespace {

TEST_F(migrate_suite, everything_is_applied_once_and_in_order) {
    const auto first = migrate(db_);
    ASSERT_EQ(first.size(), known().size());
    for (std::size_t at = 0; at < first.size(); ++at) {
        EXPECT_EQ(first[at].version, known()[at].version);
        EXPECT_EQ(first[at].name, known()[at].name);
        EXPECT_EQ(first[at].checksum, known()[at].checksum);
        EXPECT_TRUE(first[at].is_applied);
    }
    EXPECT_TRUE(migrate(db_).empty());
    EXPECT_TRUE(migrate(another()).empty());
    expect_whole();
    migrate_down(db_, 0);
}

TEST_F(migrate_suite, the_status_tells_what_is_missing_and_what_is_there) {
    for (const migration_step& step : migration_status(db_)) {
        EXPECT_FALSE(step.is_applied);
        EXPECT_EQ(step.problem, "");
    }
    EXPECT_EQ(migration_status(db_).size(), known().size());
    EXPECT_EQ(names(), std::vector<std::string>{}) << "looking changes nothing";
    migrate(db_);
    for (const migration_step& step : migration_status(db_)) EXPECT_TRUE(step.is_applied);
    migrate_down(db_, 0);
    for (const migration_step& step : migration_status(db_)) EXPECT_FALSE(step.is_applied);
}

TEST_F(migrate_suite, tables_under_another_name_are_listed_beside_ours) {
    const auto found = [&](const std::string& prefix) {
        std::vector<bool> ours;
        for (const installation& each : list_installations(db_)) {
            if (each.names.prefix == prefix) ours.push_back(each.is_ours);
        }
        return ours;
    };
    if (!has_sql()) {  // the model has no names
        EXPECT_TRUE(list_installations(db_).empty());
        return;
    }
    const std::string theirs = prefix_ + "x_";
    const database other = current().open_with_prefix(theirs, nullptr);
    migrate(other);
    EXPECT_EQ(found(prefix_), std::vector<bool>{});
    EXPECT_EQ(found(theirs), std::vector<bool>{false});
    migrate(db_);
    EXPECT_EQ(found(prefix_), std::vector<bool>{true});
    EXPECT_EQ(found(theirs), std::vector<bool>{false});
    migrate_down(other, 0);
    EXPECT_EQ(found(theirs), std::vector<bool>{});
    migrate_down(db_, 0);
    EXPECT_EQ(found(prefix_), std::vector<bool>{});
}

TEST_F(migrate_suite, without_tables_everything_says_what_to_run) {
    const auto open_session = [&] { (void)session{db_, {.name = "early"}}; };
    expect_refused([&] { require_schema(db_); }, errc::schema_missing, {"leasehold migrate"});
    expect_refused(open_session, errc::schema_missing, {"leasehold migrate"});
    migrate(another());
    EXPECT_NO_THROW(require_schema(db_));
    EXPECT_NO_THROW(open_session()) << "the same handle looks again";
    migrate_down(db_, 0);
    expect_refused([&] { require_schema(db_); }, errc::schema_missing, {"leasehold migrate"});
}

TEST_F(migrate_suite, only_the_versions_asked_for_are_applied) {
    EXPECT_TRUE(migrate(db_, {.to_version = 0}).empty());
    EXPECT_EQ(names(), std::vector<std::string>{});
    for (const int version : {newest() + 1, -2}) {
        expect_refused(
            [&] { migrate(db_, {.to_version = version}); }, errc::invalid_argument, {"migration"}
        );
        expect_refused([&] { migrate_down(db_, version); }, errc::invalid_argument, {"migration"});
    }
    for (int version = 1; version <= newest(); ++version) {
        EXPECT_EQ(migrate(db_, {.to_version = version}).size(), 1u);
    }
    EXPECT_TRUE(migrate(db_, {.to_version = 0}).empty()) << "up never goes down";
    expect_whole();
    for (int version = newest(); version-- > 0;) EXPECT_EQ(migrate_down(db_, version).size(), 1u);
    EXPECT_TRUE(migrate_down(db_, 0).empty());
}

TEST_F(migrate_suite, ten_threads_at_once_apply_each_migration_once_and_take_it_back_once) {
    constexpr int count = 10;
    const auto all_at_once = [&](auto run) {
        std::barrier start{count};
        std::atomic<std::size_t> done = 0;
        std::vector<thread> threads;
        for (int each = 0; each < count; ++each) {
            threads.emplace_back([&] {
                const database own = another();
                start.arrive_and_wait();
                EXPECT_NO_THROW(done += run(own).size());
            });
        }
        threads.clear();
        return done.load();
    };
    EXPECT_EQ(all_at_once([](const database& own) { return migrate(own); }), known().size());
    expect_whole();
    EXPECT_EQ(
        all_at_once([](const database& own) { return migrate_down(own, 0); }), known().size()
    );
}

TEST_F(migrate_suite, down_waits_for_nobody_alive_and_is_not_kept_by_the_dead) {
    migrate(db_);
    {
        session one{another(), {.name = "still-here", .reap_every = {}}};
        auto held = mutex{one, "kept"}.try_acquire();
        expect_refused([&] { migrate_down(db_, 0); }, errc::busy, {"still-here", "stop"});
        EXPECT_TRUE(held->verify());
    }
    db_.inner()->use_unchecked([](connection& on, store_set& stores) {
        const auto id = session_id::random();
        stores.get<session_store>().start(on, {id, "dead", 1h});
        stores.get<session_store>().end(on, id, std::nullopt);
    });
    EXPECT_EQ(list_sessions(db_).size(), 1u);
    EXPECT_EQ(migrate_down(db_, 0).size(), known().size());
}

TEST_F(migrate_suite, a_released_file_that_was_edited_is_named_and_nothing_is_changed) {
    migrate(db_);
    const migration_record right = first_as_known(true);
    migration_record edited = right;
    edited.checksum = std::string(64, 'e');
    record(edited);
    const std::string name = "migration 1 (" + right.name + ")";
    const auto words = {name.c_str(), "edited", "restore the file"};
    expect_refused([&] { migrate(another()); }, errc::schema_mismatch, words);
    expect_refused([&] { migrate(another(), {.resume = true}); }, errc::schema_mismatch, words);
    expect_refused([&] { migrate_down(another(), 0); }, errc::schema_mismatch, words);
    expect_refused([&] { require_schema(another()); }, errc::schema_mismatch, words);
    if (has_sql()) {  // a new handle on the model does not look
        expect_refused([&] { (void)session{another()}; }, errc::schema_mismatch, words);
    }
    EXPECT_NE(migration_status(db_).at(0).problem.find("edited"), std::string::npos);
    record(right);
    expect_whole();
    migrate_down(db_, 0);
}

TEST_F(migrate_suite, a_schema_newer_than_the_program_is_left_alone) {
    migrate(db_);
    const int version = newest() + 1;
    record({version, "of_tomorrow", std::string(64, 'f'), true});
    const auto words = {"of_tomorrow", "newer than this program", "upgrade this program"};
    expect_refused([&] { migrate(another()); }, errc::schema_mismatch, words);
    expect_refused([&] { migrate_down(another(), 0); }, errc::schema_mismatch, words);
    expect_refused([&] { require_schema(another()); }, errc::schema_mismatch, words);
    const auto steps = migration_status(db_);
    ASSERT_EQ(steps.size(), known().size() + 1);
    EXPECT_NE(steps.back().problem.find("newer"), std::string::npos);
    forget(version);
    expect_whole();
    migrate_down(db_, 0);
}

// A newer program may add this to all tables, so that older ones need not know.
TEST_F(migrate_suite, with_additions_that_its_name_allows_an_older_program_goes_on) {
    migrate(db_);
    const int version = newest() + 1;
    if (has_sql()) {
        for (const char* table :
             {"lock",
              "session",
              "holder",
              "waiter",
              "run",
              "fence_guard",
              "upkeep",
              "fence_mark",
              "queue",
              "job",
              "job_history",
              "job_schedule",
              "job_bell",
              "job_need",
              "grant_history",
              "grant_history_rule"}) {
            db_.inner()->use_unchecked([&](connection& on, store_set&) {
                on.execute("ALTER TABLE " + prefix_ + table + " ADD COLUMN hint BIGINT");
            });
        }
    }
    record({version, "hints_from_" + std::to_string(newest()), std::string(64, 'f'), true});
    expect_whole();
    EXPECT_TRUE(migration_status(db_).back().is_newer);
    EXPECT_TRUE(migrate(another()).empty());
    expect_refused(
        [&] { migrate_down(another(), 0); }, errc::schema_mismatch, {"hints_from_", "newer one"}
    );
    {
        session one{another(), {.name = "one", .reap_every = {}}};
        session other{another(), {.name = "other", .reap_every = {}}};
        auto held = mutex{one, "k"}.try_acquire();
        EXPECT_FALSE(is_granted(mutex(other, "k").try_acquire()));
        EXPECT_TRUE(held->verify());
        EXPECT_TRUE(semaphore(other, "s", 2).try_acquire());
        reap(another());
    }
    forget(version);
    migrate_down(db_, 0);
}

TEST_F(migrate_suite, what_a_newer_program_has_not_finished_or_not_allowed_is_refused) {
    migrate(db_);
    const int version = newest() + 1;
    const std::string own = std::to_string(newest());
    const auto may_not_migrate = [&](const std::string& name, bool is_finished, const char* word) {
        record({version, name, std::string(64, 'f'), is_finished});
        const auto words = {name.c_str(), "newer than this program", word};
        expect_refused([&] { migrate(another()); }, errc::schema_mismatch, words);
        expect_refused([&] { migrate(another(), {.resume = true}); }, errc::schema_mismatch, words);
        expect_refused([&] { migrate_down(another(), 0); }, errc::schema_mismatch, words);
    };
    const auto refused = [&](const std::string& name, bool is_finished, const char* word) {
        may_not_migrate(name, is_finished, word);
        const auto words = {name.c_str(), "newer than this program", word};
        expect_refused([&] { require_schema(another()); }, errc::schema_mismatch, words);
        if (has_sql()) {  // a new handle on the model does not look
            expect_refused([&] { (void)session{another()}; }, errc::schema_mismatch, words);
        }
    };
    may_not_migrate("hints_from_" + own, false, "not finished");
    EXPECT_NO_THROW(require_schema(another())) << "each half of it lets this program go on";
    refused("hints_from_" + std::to_string(version), false, "not finished");
    refused("hints_from_" + std::to_string(version), true, "needs one that knows");
    // A migration that may be passed over does not excuse another.
    record({version + 1, "hints_from_" + own, std::string(64, 'f'), true});
    refused("other_columns", true, "upgrade this program");
    forget(version + 1);
    forget(version);
    expect_whole();
    migrate_down(db_, 0);
}

TEST_F(migrate_suite, where_tables_may_not_be_made_it_says_so_and_writes_nothing) {
    EXPECT_EQ(current().forbidden_places.empty(), !has_sql());
    for (const forbidden_place& place : current().forbidden_places) {
        SCOPED_TRACE(place.why);
        const auto found = place.run(prefix_, [](const database& there) { migrate(there); });
        ASSERT_TRUE(found.thrown) << "it was allowed";
        EXPECT_EQ(found.thrown->code(), place.expected) << found.thrown->what();
        EXPECT_EQ(found.left, std::vector<std::string>{});
    }
}

TEST_F(migrate_suite, the_sql_for_review_does_by_hand_what_migrate_does) {
    if (!has_sql()) GTEST_SKIP() << "the model has no SQL";
    migrate(db_);
    const auto made_by_migrate = names();
    migrate_down(db_, 0);
    const engine which = db_.server().engine;
    const table_names table_names{prefix_, ""};
    const auto by_hand = [&](const std::string& sql) {
        db_.inner()->use_unchecked([&](connection& on, store_set&) { on.execute_script(sql); });
    };
    by_hand(migration_sql(which, table_names));
    EXPECT_EQ(names(), made_by_migrate);
    expect_whole();
    EXPECT_TRUE(migrate(db_).empty());
    by_hand(migration_sql(which, table_names, newest(), 0));
    expect_refused([&] { require_schema(another()); }, errc::schema_missing, {"migrate"});
    EXPECT_TRUE(migrate_down(db_, 0).empty()) << "but the table of records, which it removes";
}

// A program's knowledge of the old tables may not hold for the new ones.
TEST_F(migrate_suite, a_lease_on_tables_made_anew_under_an_open_database_is_kept) {
    migrate(db_);
    const database open_all_along = another();
    { session before{open_all_along, {.name = "before"}}; }
    migrate_down(db_, 0);
    migrate(db_);
    session mine{open_all_along, {.name = "mine"}};
    auto held = mutex{mine, "k"}.try_acquire();
    ASSERT_TRUE(held);
    session other{another(), {.name = "other"}};
    EXPECT_FALSE(is_granted(mutex(other, "k").try_acquire()));
    EXPECT_TRUE(held->verify());
    held->release();
    mine.end();
    other.end();
    migrate_down(db_, 0);
}

}  // namespace
}  // namespace leasehold::testing
