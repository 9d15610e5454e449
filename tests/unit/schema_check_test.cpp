// Migrations over a schema of the test's own: the problems found, their words, and the steps that
// are then not done.
#include "database/schema_check.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "admin/migration_store.hpp"
#include "core/handle_maker.hpp"
#include "database/database.hpp"
#include "leasehold/error.hpp"
#include "leasehold/lockable.hpp"
#include "leasehold/migrate.hpp"
#include "leasehold/session.hpp"
#include "support/memory_store.hpp"

namespace leasehold::testing {
namespace {

using records = std::optional<std::vector<migration_record>>;

const migration known[] = {
    {1, "locks", "aaa"},
    {2, "jobs", "bbb"},
};

migration_record applied(int version, const char* name, const char* checksum) {
    return {version, name, checksum, true};
}
migration_record half_applied(int version, const char* name, const char* checksum) {
    return {version, name, checksum, false};
}

// The problem of the only step that has one.
std::string problem_in(const records& found) {
    std::string problem;
    for (const auto& step : compare(known, found)) {
        if (step.problem.empty()) continue;
        EXPECT_EQ(problem, "") << "two problems";
        problem = step.problem;
    }
    return problem;
}

TEST(schema_check_test, a_schema_that_is_whole_has_no_problem) {
    const auto steps =
        compare(known, records{{applied(1, "locks", "aaa"), applied(2, "jobs", "bbb")}});
    ASSERT_EQ(steps.size(), 2u);
    for (const auto& step : steps) {
        EXPECT_TRUE(step.is_applied);
        EXPECT_FALSE(step.is_half_applied);
        EXPECT_EQ(step.problem, "");
    }
    EXPECT_EQ(steps[1].version, 2);
    EXPECT_EQ(steps[1].name, "jobs");
    EXPECT_EQ(steps[1].checksum, "bbb");
}

TEST(schema_check_test, what_is_only_missing_is_no_problem_but_not_applied) {
    for (const auto& found : {records{}, records{std::vector<migration_record>{}}}) {
        const auto steps = compare(known, found);
        ASSERT_EQ(steps.size(), 2u);
        EXPECT_FALSE(steps[0].is_applied);
        EXPECT_FALSE(steps[1].is_half_applied);
    }
    EXPECT_EQ(problem_in(records{}), "");
}

TEST(schema_check_test, a_newer_schema_asks_for_a_newer_program) {
    EXPECT_EQ(
        problem_in(records{
            {applied(1, "locks", "aaa"), applied(2, "jobs", "bbb"), applied(7, "x", "c")}}),
        "migration 7 (x) is newer than this program knows (its newest is 2): upgrade this program, "
        "or take the migration back with the newer one"
    );
}

TEST(schema_check_test, a_newer_migration_lets_go_on_who_knows_the_one_in_its_name) {
    const auto problem_of_newer = [](const char* name, bool is_finished = true) {
        return problem_in(records{
            {applied(1, "locks", "aaa"), applied(2, "jobs", "bbb"), {7, name, "c", is_finished}}});
    };
    EXPECT_EQ(problem_of_newer("hints_from_2"), "");
    EXPECT_EQ(problem_of_newer("hints_from_1"), "");
    EXPECT_EQ(
        problem_of_newer("hints_from_3"),
        "migration 7 (hints_from_3) is newer than this program knows (its newest is 2) and needs "
        "one that knows 3: upgrade this program, or take the migration back with the newer one"
    );
    EXPECT_EQ(problem_of_newer("hints_from_2", false), "");
    EXPECT_EQ(
        problem_of_newer("hints_from_3", false),
        "migration 7 (hints_from_3) is newer than this program knows (its newest is 2) and was "
        "begun and not finished: run `leasehold migrate up` of the newer program"
    );
    for (const char* name :
         {"from_2",
          "hints_from_",
          "hints_from_2x",
          "hints_from_0",
          "hints_from_-1",
          "hints_from_2_",
          "hints_from_99999999999999999999",
          "hints_from_2_from_3"}) {
        EXPECT_NE(problem_of_newer(name), "") << name;
    }
}

// A program may go on beside it; a program that changes the schema must not.
TEST(schema_check_test, a_newer_migration_that_is_half_applied_is_to_be_finished_first) {
    const auto first = applied(1, "locks", "aaa"), second = applied(2, "jobs", "bbb");
    const auto begun =
        compare(known, records{{first, second, half_applied(3, "hints_from_2", "c")}});
    EXPECT_NO_THROW(require_sound(begun));
    try {
        require_finished(begun);
        FAIL() << "was finished";
    } catch (const error& failure) {
        EXPECT_EQ(failure.code(), errc::schema_mismatch);
        EXPECT_STREQ(
            failure.what(),
            "migration 3 (hints_from_2) is newer than this program knows and was begun and not "
            "finished: run `leasehold migrate up` of the newer program"
        );
    }
    const records finished{{first, second, applied(3, "hints_from_2", "c")}};
    EXPECT_NO_THROW(require_finished(compare(known, finished)));
}

TEST(schema_check_test, each_of_several_newer_ones_must_let_this_program_go_on) {
    const auto first = applied(1, "locks", "aaa"), second = applied(2, "jobs", "bbb");
    EXPECT_EQ(
        describe_newer(compare(
            known,
            records{{first, second, applied(3, "a_from_2", "c"), applied(4, "b_from_1", "d")}}
        )),
        "the schema is newer than this program: migration 3 (a_from_2), migration 4 (b_from_1); by "
        "its name this program may go on: upgrade it when you can"
    );
    EXPECT_NE(
        problem_in(records{
            {first, second, applied(3, "a_from_2", "c"), applied(4, "b_from_3", "d")}}),
        ""
    );
    EXPECT_EQ(describe_newer(compare(known, records{{first, second}})), "");
}

// A migration that this program knows is held to its file as ever, beside unknown ones.
TEST(schema_check_test, an_edited_migration_is_found_below_a_newer_one) {
    EXPECT_NE(
        problem_in(records{
            {applied(1, "locks", "x"), applied(2, "jobs", "bbb"), applied(3, "a_from_2", "c")}}),
        ""
    );
}

TEST(schema_check_test, an_edited_migration_is_found_by_its_checksum_and_by_its_name) {
    const auto words = [](const std::string& label) {
        return label +
               " differs from the one that was applied: a released migration was edited; restore "
               "the file and put the change into a new migration";
    };
    EXPECT_EQ(problem_in(records{{applied(1, "locks", "AAA")}}), words("migration 1 (locks)"));
    EXPECT_EQ(problem_in(records{{applied(1, "lock", "aaa")}}), words("migration 1 (locks)"));
    EXPECT_EQ(problem_in(records{{half_applied(1, "locks", "x")}}), words("migration 1 (locks)"));
}

TEST(schema_check_test, a_removed_migration_is_found) {
    const migration with_a_gap[] = {known[1]};
    const auto steps =
        compare(with_a_gap, records{{applied(1, "locks", "aaa"), applied(2, "jobs", "bbb")}});
    ASSERT_EQ(steps.size(), 2u);
    EXPECT_EQ(
        steps[0].problem,
        "migration 1 (locks) was applied but this program has no such file: a released migration "
        "was removed; build the program from a complete source"
    );
    EXPECT_EQ(steps[1].problem, "");
}

TEST(schema_check_test, a_half_applied_migration_is_found) {
    const auto steps =
        compare(known, records{{applied(1, "locks", "aaa"), half_applied(2, "jobs", "bbb")}});
    EXPECT_TRUE(steps[1].is_half_applied);
    EXPECT_FALSE(steps[1].is_applied);
    EXPECT_EQ(
        steps[1].problem,
        "migration 2 (jobs) was begun and not finished: see that no other migration is running, "
        "then run `leasehold migrate up --resume`; each of its statements can be repeated"
    );
}

TEST(schema_check_test, the_first_problem_is_the_one_that_is_thrown) {
    auto steps = compare(known, records{{applied(1, "locks", "x"), applied(2, "jobs", "x")}});
    try {
        require_sound(steps);
        FAIL() << "was sound";
    } catch (const error& failure) {
        EXPECT_EQ(failure.code(), errc::schema_mismatch);
        EXPECT_EQ(failure.what(), steps[0].problem);
    }
}

// --------------------------------------------------------------- migrating, over a scripted schema

// Records in memory what was asked of it; `fail_apply` throws in the middle of a migration.
class scripted_schema final : public migration_store {
public:
    std::span<const migration> known() const override { return files; }
    migration_texts texts(int) const override { return {"create;", "drop;"}; }
    std::vector<installation> installations(connection&) const override { return {}; }
    bool migrates_in_transactions() const override { return in_transactions; }
    void lock(connection&, std::chrono::milliseconds) override {
        log.push_back("lock");
        before_ = found;
    }
    void unlock(connection&, bool commit) override {
        log.push_back(commit ? "commit" : "give up");
        if (!commit && in_transactions) found = before_;
    }
    records recorded(connection&) override { return found; }
    std::string place(connection&) override { return "a script"; }
    void apply(connection&, std::string_view statements) override {
        log.push_back("apply " + std::string(statements));
        if (fail_apply) throw error(errc::database_error, "out of disk");
    }
    void record(connection& on, const migration_record& what) override {
        log.push_back(std::string(what.is_finished ? "finish " : "begin ") + what.name);
        if (!found) found.emplace();
        forget_quietly(what.version);
        found->push_back(what);
        (void)on;
    }
    void forget(connection&, int version) override {
        log.push_back("forget " + std::to_string(version));
        forget_quietly(version);
    }
    void drop_records(connection&) override {
        log.push_back("drop");
        found.reset();
    }
    std::string script(int, int) const override { return ""; }
    std::string grants(std::string_view) const override { return ""; }

    std::vector<migration> files{std::begin(testing::known), std::end(testing::known)};
    records found;
    bool in_transactions = true;
    bool fail_apply = false;
    std::vector<std::string> log;

private:
    void forget_quietly(int version) {
        std::erase_if(*found, [&](const auto& each) { return each.version == version; });
    }
    records before_;
};

// A database handle looks at this one.
class shown_schema final : public schema_store {
public:
    explicit shown_schema(schema_store& of) : of_(of) {}
    std::span<const migration> known() const override { return of_.known(); }
    records recorded(connection& on) override { return of_.recorded(on); }
    std::string place(connection& on) override { return of_.place(on); }

private:
    schema_store& of_;
};

using strings = std::vector<std::string>;

class migrate_test : public ::testing::Test {
protected:
    migrate_test() {
        auto stores = model_.stores();
        auto scripted = std::make_unique<scripted_schema>();
        schema_ = scripted.get();
        stores->put<schema_store>(std::make_unique<shown_schema>(*scripted));
        stores->put<migration_store>(std::move(scripted));
        db_.emplace(handle_maker::share<database>(
            [this](std::chrono::milliseconds) { return model_.connect(); },
            std::move(stores),
            database_settings{.observer = warnings_}
        ));
    }
    strings log() { return std::exchange(schema_->log, {}); }
    errc code_of(const std::function<void()>& run) {
        try {
            run();
        } catch (const error& failure) {
            message_ = failure.what();
            return failure.code();
        }
        return errc{};
    }

    struct warnings : observer {
        void on_event(const event& what) noexcept override {
            if (what.kind == event_kind::warning) told.push_back(std::string(what.detail));
        }
        strings told;
    };

    const std::shared_ptr<warnings> warnings_ = std::make_shared<warnings>();
    memory_database model_;
    scripted_schema* schema_ = nullptr;
    std::optional<database> db_;
    std::string message_;
};

TEST_F(migrate_test, each_migration_is_applied_and_recorded_under_its_own_lock) {
    const auto done = migrate(*db_);
    ASSERT_EQ(done.size(), 2u);
    EXPECT_EQ(done[0].name, "locks");
    EXPECT_TRUE(done[1].is_applied);
    EXPECT_EQ(
        log(),
        (strings{
            "lock",
            "apply create;",
            "finish locks",
            "commit",
            "lock",
            "apply create;",
            "finish jobs",
            "commit",
            "lock",
            "give up"})
    );
    EXPECT_TRUE(migrate(*db_).empty());
    EXPECT_NO_THROW(require_schema(*db_));
}

TEST_F(migrate_test, it_stops_at_the_version_asked_for) {
    EXPECT_EQ(migrate(*db_, {.to_version = 1}).size(), 1u);
    EXPECT_EQ(code_of([&] { require_schema(*db_); }), errc::schema_mismatch);
    EXPECT_EQ(
        message_,
        "the schema is older than this program: migration 2 (jobs) is not applied; run `leasehold "
        "migrate`"
    );
    EXPECT_EQ(migrate(*db_, {.to_version = 0}).size(), 0u);
    EXPECT_EQ(code_of([&] { migrate(*db_, {.to_version = 3}); }), errc::invalid_argument);
    EXPECT_EQ(code_of([&] { migrate(*db_, {.to_version = -2}); }), errc::invalid_argument);
}

TEST_F(migrate_test, where_nothing_was_applied_the_schema_is_missing) {
    EXPECT_EQ(code_of([&] { require_schema(*db_); }), errc::schema_missing);
    EXPECT_EQ(
        message_,
        "leasehold's tables are not in this database: run `leasehold migrate`, or check the table "
        "prefix and the schema"
    );
}

TEST_F(migrate_test, in_a_transaction_a_failed_migration_leaves_nothing_behind) {
    schema_->fail_apply = true;
    EXPECT_EQ(code_of([&] { migrate(*db_); }), errc::database_error);
    EXPECT_EQ(log(), (strings{"lock", "apply create;", "give up"}));
    EXPECT_FALSE(schema_->found);
}

TEST_F(migrate_test, without_transactions_a_failed_migration_is_found_and_can_be_resumed) {
    schema_->in_transactions = false;
    schema_->fail_apply = true;
    EXPECT_EQ(code_of([&] { migrate(*db_); }), errc::database_error);
    EXPECT_EQ(log(), (strings{"lock", "begin locks", "apply create;", "give up"}));
    schema_->fail_apply = false;
    EXPECT_EQ(code_of([&] { migrate(*db_); }), errc::schema_mismatch);
    EXPECT_NE(message_.find("begun and not finished"), std::string::npos);
    EXPECT_EQ(log(), (strings{"lock", "give up"})) << "nothing was changed";
    EXPECT_EQ(code_of([&] { require_schema(*db_); }), errc::schema_mismatch);
    EXPECT_EQ(migrate(*db_, {.resume = true}).size(), 2u);
    EXPECT_NO_THROW(require_schema(*db_));
}

class unsound : public migrate_test, public ::testing::WithParamInterface<records> {};
TEST_P(unsound, schemas_are_refused_and_left_alone) {
    schema_->found = GetParam();
    EXPECT_EQ(code_of([&] { migrate(*db_); }), errc::schema_mismatch);
    EXPECT_EQ(code_of([&] { migrate(*db_, {.resume = true}); }), errc::schema_mismatch);
    EXPECT_EQ(code_of([&] { migrate_down(*db_, 0); }), errc::schema_mismatch);
    EXPECT_EQ(code_of([&] { require_schema(*db_); }), errc::schema_mismatch);
    EXPECT_EQ(log(), (strings{"lock", "give up", "lock", "give up", "lock", "give up"}));
    EXPECT_EQ(migration_status(*db_).size(), GetParam()->size() == 3 ? 3u : 2u);
}
INSTANTIATE_TEST_SUITE_P(
    migrate_test,
    unsound,
    ::testing::Values(
        records{{applied(1, "locks", "aaa"), applied(2, "jobs", "bbb"), applied(3, "new", "ccc")}},
        records{{applied(1, "locks", "edited")}},
        records{{applied(1, "locks", "aaa"), half_applied(2, "jobs", "edited")}}
    )
);

TEST_F(migrate_test, what_a_newer_program_has_added_is_left_alone) {
    migrate(*db_);
    schema_->found->push_back(applied(3, "hints_from_2", "ccc"));
    log();
    EXPECT_TRUE(migrate(*db_).empty());
    EXPECT_TRUE(migrate(*db_, {.resume = true}).empty());
    EXPECT_NO_THROW(require_schema(*db_));
    EXPECT_EQ(code_of([&] { migrate_down(*db_, 2); }), errc::schema_mismatch);
    EXPECT_EQ(
        message_,
        "migration 3 (hints_from_2) is newer than this program knows, which cannot take it back: "
        "use the newer one"
    );
    EXPECT_EQ(log(), (strings{"lock", "give up", "lock", "give up", "lock", "give up"}));
    EXPECT_EQ(schema_->found->size(), 3u);
}

TEST_F(migrate_test, an_observer_is_told_once_that_the_schema_is_newer) {
    migrate(*db_);  // the first use after it looks
    schema_->found->push_back(applied(3, "hints_from_2", "ccc"));
    for (int times = 0; times < 2; ++times) session{*db_, {.name = "one"}}.end();
    EXPECT_EQ(
        warnings_->told,
        (strings{"the schema is newer than this program: migration 3 (hints_from_2); by its name "
                 "this program may go on: upgrade it when you can"})
    );
}

TEST_F(migrate_test, going_down_takes_back_the_newest_first_and_the_records_last) {
    migrate(*db_);
    log();
    const auto undone = migrate_down(*db_, 0);
    ASSERT_EQ(undone.size(), 2u);
    EXPECT_EQ(undone[0].name, "jobs");
    EXPECT_EQ(
        log(),
        (strings{
            "lock",
            "apply drop;",
            "forget 2",
            "commit",
            "lock",
            "apply drop;",
            "forget 1",
            "drop",
            "commit",
            "lock",  // looks once more, under the lock, and finds nothing
            "give up"})
    );
    EXPECT_TRUE(migrate_down(*db_, 0).empty());
}

TEST_F(migrate_test, going_down_stops_at_the_version_asked_for) {
    migrate(*db_);
    EXPECT_EQ(migrate_down(*db_, 1).size(), 1u);
    EXPECT_EQ(migrate_down(*db_, 1).size(), 0u);
    EXPECT_EQ(code_of([&] { migrate_down(*db_, 3); }), errc::invalid_argument);
    EXPECT_EQ(code_of([&] { migrate_down(*db_, -1); }), errc::invalid_argument);
}

TEST_F(migrate_test, the_tables_are_not_dropped_under_a_live_session) {
    migrate(*db_);
    session living{*db_, {.name = "living"}};
    EXPECT_EQ(code_of([&] { migrate_down(*db_, 0); }), errc::busy);
    EXPECT_NE(message_.find("living@"), std::string::npos) << message_;
    EXPECT_EQ(schema_->found->size(), 2u) << "nothing was taken back";
    living.end();
    EXPECT_EQ(migrate_down(*db_, 0).size(), 2u);
}

}  // namespace
}  // namespace leasehold::testing
