// The doctor's findings about a MySQL or MariaDB server that takes no writes, which is a setting of
// all of it, or keeps a prepared transaction, which holds up everybody. CTest gives these a server
// of their own, as upkeep_own.<backend>.
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "leasehold/driver/mysql.hpp"
#include "leasehold/error.hpp"
#include "leasehold/grant_history.hpp"
#include "leasehold/inspect.hpp"
#include "leasehold/job_queue.hpp"
#include "leasehold/job_schedule.hpp"
#include "leasehold/migrate.hpp"
#include "leasehold/mutex.hpp"
#include "leasehold/once.hpp"
#include "support/calm.hpp"
#include "upkeep/doctor.hpp"

namespace leasehold::testing {
namespace {

class own_server : public ::testing::Test {
protected:
    own_server() {
        migrate(db_);
        here_.load(here_.grants());
    }
    // Before the database goes, which is a change, too.
    ~own_server() override {
        if (is_mysql()) db_.execute("SET GLOBAL super_read_only = OFF");
        db_.execute("SET GLOBAL read_only = OFF");
    }

    bool is_mysql() const { return db_.server().engine == engine::mysql; }

    void expect_said(const database& by, const std::string& setting) const {
        const auto all = diagnose(by);
        const auto found = find(all, "unsuitable");
        ASSERT_TRUE(found) << names_of(all);
        EXPECT_EQ(found->severity, severity::error);
        EXPECT_NE(found->what.find(setting + " is on"), std::string::npos) << found->what;
        EXPECT_NE(found->what.find("connect to the primary"), std::string::npos) << found->what;
        for (const char* each : {"missing_rights", "schema_drift", "unreachable"}) {
            EXPECT_FALSE(find(all, each)) << names_of(all);
        }
        for (const finding& each : all) {
            const bool is_told = each.name == "not_looked_at";
            EXPECT_FALSE(is_told && each.what.starts_with("the schema")) << names_of(all);
        }
        EXPECT_TRUE(find(all, "heartbeats")) << "the rest is looked at: " << names_of(all);
    }
    // Programs are refused, with the words of the doctor.
    void expect_refused(const database& by) const {
        try {
            const session one{by, calm("one")};
            ADD_FAILURE() << "a session began";
        } catch (const error& failure) {
            EXPECT_EQ(failure.code(), errc::read_only) << failure.what();
        }
    }

    // Everything that a person may ask, by one handle, which is refused as a program's is.
    void expect_shown(const database& by) const {
        EXPECT_EQ(list_locks(by).size(), 0u);
        EXPECT_EQ(count_locks(by).keys, 0);
        EXPECT_EQ(list_free_keys(by).size(), 1u);
        EXPECT_TRUE(list_waiters(by, key{"k"}).empty());
        EXPECT_TRUE(list_row_locks(by).empty());
        EXPECT_TRUE(list_sessions(by).empty());
        EXPECT_TRUE(list_runs(by).empty());
        EXPECT_TRUE(list_job_schedules(by).empty());
        EXPECT_EQ(list_queues(by).size(), 1u);
        EXPECT_EQ(list_jobs(by, {}).size(), 1u);
        EXPECT_EQ((job_queue{by, "mail"}.describe().jobs[job_state::available]), 1);
        EXPECT_FALSE(grant_history_state(by).is_on);
        EXPECT_TRUE(find(diagnose_key(by, key{"k"}).findings, "free"));
        expect_refused(by);
        EXPECT_EQ(list_free_keys(by).size(), 1u) << "that changes nothing";
    }

    const place here_;
    const database db_ = here_.open();
};

TEST_F(own_server, that_is_read_only_is_told) {
    EXPECT_FALSE(find(diagnose(db_), "unsuitable"));
    db_.execute("SET GLOBAL read_only = ON");
    expect_said(db_, "read_only");
    expect_said(here_.open_as_program(), "read_only");
    expect_refused(here_.open());
    expect_refused(here_.open_as_program());
}

TEST_F(own_server, that_takes_no_writes_may_be_looked_at) {
    {
        session one{db_, calm("one")};
        EXPECT_TRUE((mutex{one, "k"}.try_acquire()));
    }
    job_queue{db_, "mail"}.enqueue({.kind = "k"});
    db_.execute("SET GLOBAL read_only = ON");
    expect_shown(here_.open());
    expect_shown(here_.open_as_program());
    if (!is_mysql()) return;
    db_.execute("SET GLOBAL super_read_only = ON");
    expect_shown(here_.open());
}

// MariaDB has no such setting.
TEST_F(own_server, that_is_read_only_for_administrators_as_well_is_told) {
    if (!is_mysql()) return;
    db_.execute("SET GLOBAL super_read_only = ON");
    expect_said(db_, "read_only");
    expect_said(here_.open_as_program(), "read_only");
    expect_refused(here_.open());
}

TEST_F(own_server, that_lets_a_user_have_few_connections_is_told) {
    const std::string user = "'" + place::program_name() + "'";
    const auto limit_to = [&](const std::string& count) {
        db_.execute("ALTER USER " + user + "@'%' WITH MAX_USER_CONNECTIONS " + count);
    };
    const auto of_user = [&](const diagnosis_settings& settings) {
        for (const finding& each : diagnose(here_.open_as_program(), settings)) {
            const bool is_of_user = each.what.find("connections of user " + user) != each.what.npos;
            if (each.name == "connections" && is_of_user) return each.what;
        }
        return std::string{};
    };
    // The connection of the handle before may still be there for a moment.
    const auto says = [&](const diagnosis_settings& settings, const std::string& used) {
        const std::string all = used + " connections of user " + user + " are in use";
        std::string said;
        EXPECT_TRUE(eventually([&] { return (said = of_user(settings)) == all; })) << said;
    };
    EXPECT_EQ(of_user(strict()), "") << "no limit of its own";
    limit_to("50");
    says(strict(), "1 of 50");
    EXPECT_EQ(of_user({}), "");
    limit_to("1");
    says({}, "1 of 1");
    limit_to("0");
}

// Its connection is gone, and no restart ends it.
TEST_F(own_server, that_keeps_a_prepared_transaction_is_told) {
    run_in(
        here_.open(),
        {"XA START 'left'",
         "UPDATE leasehold_fence_mark SET fence = fence + 1",
         "XA END 'left'",
         "XA PREPARE 'left'"}
    );
    std::optional<finding> found;
    eventually([&] {
        found = find(diagnose(db_, strict()), "old_snapshot");
        return found && found->what.find("a prepared transaction (XA)") != std::string::npos;
    });
    db_.execute("XA ROLLBACK 'left'");
    ASSERT_TRUE(found);
    EXPECT_NE(found->what.find("a prepared transaction (XA)"), std::string::npos) << found->what;
    EXPECT_TRUE(found->remedy.starts_with("XA RECOVER")) << found->remedy;
}

}  // namespace
}  // namespace leasehold::testing
