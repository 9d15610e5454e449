// Migrations that were interrupted: half applied, or with a request that was lost.
#include <algorithm>
#include <cstdlib>

#include "conformance/migrate_suite.hpp"
#include "support/faulty_connection.hpp"

namespace leasehold::testing {
namespace {

TEST_F(migrate_suite, a_half_applied_migration_is_named_and_resumed_on_request) {
    record(first_as_known(false));
    const auto words = {"migration 1", "not finished", "--resume"};
    expect_refused([&] { migrate(another()); }, errc::schema_mismatch, words);
    expect_refused([&] { require_schema(another()); }, errc::schema_mismatch, words);
    EXPECT_TRUE(migration_status(db_).at(0).is_half_applied);
    EXPECT_FALSE(migration_status(db_).at(0).is_applied);
    EXPECT_EQ(migrate(db_, {.resume = true}).size(), known().size());
    expect_whole();
    migrate_down(db_, 0);
}

TEST_F(migrate_suite, a_half_applied_migration_can_be_taken_back_instead) {
    if (migrates_in_transactions()) GTEST_SKIP() << "there is no such state";
    const migration first = known().front();
    record(first_as_known(false));
    on_schema([&](connection& on, migration_store& schema) {
        schema.apply(on, split_statements(texts(first).up).front() + ";\n");
    });
    EXPECT_EQ(migrate_down(db_, 0).size(), 1u);
}

// On an engine that commits each statement of DDL by itself, all of them can be run again after any
// number of them.
TEST_F(migrate_suite, every_statement_can_be_the_last_before_an_interruption) {
    if (migrates_in_transactions() || !has_sql()) GTEST_SKIP() << "see the test below";
    const migration first = known().front();
    const auto statements = split_statements(texts(first).up);
    for (std::size_t count = 0; count <= statements.size(); ++count) {
        SCOPED_TRACE(count);
        record(first_as_known(false));
        db_.inner()->use_unchecked([&](connection& on, store_set&) {
            for (std::size_t at = 0; at < count; ++at) on.execute(statements[at]);
        });
        expect_refused([&] { migrate(another()); }, errc::schema_mismatch, {"--resume"});
        EXPECT_EQ(migrate(another(), {.resume = true}).size(), known().size());
        expect_whole();
        migrate_down(db_, 0);
        EXPECT_EQ(names(), std::vector<std::string>{});
    }
}

// A process dies, or loses the database, at any point of a migration's way up or down. A request
// that is lost before it is sent leaves the state that the request before it has made. Each
// migration begins at the version before it, and after the requests with which all of them begin.
// A released migration never changes, so the newest two are tried for each change.
TEST_F(migrate_suite, whatever_request_is_lost_the_next_run_finishes) {
    const auto plan = std::make_shared<fault_plan>();
    const auto expect_version = [&](int version) {
        for (const migration_step& each : migration_status(db_)) {
            EXPECT_EQ(each.is_applied, each.version <= version) << each.version;
            EXPECT_FALSE(each.is_half_applied) << each.version;
        }
    };
    const auto resume = [&](int version) {
        const auto steps = migration_status(db_);
        const bool is_half = std::any_of(steps.begin(), steps.end(), [](const auto& each) {
            return each.is_half_applied;
        });
        EXPECT_FALSE(is_half && migrates_in_transactions());
        if (is_half) {
            expect_refused([&] { migrate(another()); }, errc::schema_mismatch, {"--resume"});
        }
        migrate(another(), {.to_version = version, .resume = is_half});
        expect_version(version);
    };
    const auto down_to = [](int version) {
        return [=](const database& on) { migrate_down(on, version); };
    };
    const auto up_to = [](int version) {
        return [=](const database& on) { migrate(on, {.to_version = version}); };
    };
    const auto calls_of = [&](const auto& run) {
        plan->heal();
        run(another(plan->wrapper()));
        return plan->calls();
    };
    const auto lose = [&](int call, const auto& run) {
        plan->fail_call(call, fault::lost_after_it);
        thrown_by([&] { run(another(plan->wrapper())); });
    };
    const bool tries_each = std::getenv("LEASEHOLD_TEST_EACH_MIGRATION") != nullptr;
    const int first = tries_each ? 1 : std::max(1, newest() - 1);
    int first_call = 1;
    if (first > 1) {
        up_to(first - 1)(another());
        first_call = calls_of(up_to(first - 1));
    }
    for (int version = first; version <= newest(); ++version) {
        const int last_call = std::max(calls_of(up_to(version)), calls_of(down_to(version - 1)));
        for (int call = first_call; call <= last_call; ++call) {
            SCOPED_TRACE(
                "migration " + std::to_string(version) + ", the answer to call " +
                std::to_string(call)
            );
            lose(call, up_to(version));
            resume(version);
            lose(call, down_to(version - 1));
            down_to(version - 1)(another());
            expect_version(version - 1);
        }
        up_to(version)(another());
        first_call = calls_of(up_to(version));  // of a run that has nothing to do
    }
    expect_whole();
    migrate_down(another(), 0);
    EXPECT_EQ(names(), std::vector<std::string>{});
}

}  // namespace
}  // namespace leasehold::testing
