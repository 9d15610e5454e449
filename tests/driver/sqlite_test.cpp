// The SQLite driver: parameters, and statements outside of transactions.
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "database/database.hpp"
#include "leasehold/database.hpp"
#include "leasehold/driver/sqlite.hpp"
#include "leasehold/inspect.hpp"
#include "leasehold/job_queue.hpp"
#include "leasehold/migrate.hpp"
#include "statements.hpp"
#include "support/folder.hpp"

namespace leasehold {
namespace {

class sqlite_test : public ::testing::Test {
protected:
    sqlite_test() {
        migrate(db_);
        db_ = open();
        EXPECT_FALSE(has_log()) << "people may copy the file now";
    }

    database open() const { return sqlite::open("sqlite:" + (folder_ / "app.db").string()); }
    bool has_log() const { return std::filesystem::exists(folder_ / "app.db-wal"); }

    testing::folder folder_;
    database db_ = open();
};

// A transaction's connection is the pool's own, and idle when that has ended.
TEST_F(sqlite_test, parameters_are_numbered_as_on_every_engine) {
    sqlite3* none = nullptr;
    EXPECT_THROW(borrow(none), error);
    transaction tx = db_.begin();
    connection& inside = transaction_ref{tx}.inside();
    tx.rollback();
    testing::expect_numbered_parameters(inside);
    testing::expect_surplus_refused(inside);
    testing::expect_numbers_across_a_script(inside);
}

// `borrow(…)` alone is a temporary, which ends before the reference does.
TEST_F(sqlite_test, a_reference_keeps_what_borrow_has_made) {
    sqlite3* handle = nullptr;
    ASSERT_EQ(sqlite3_open((folder_ / "app.db").c_str(), &handle), SQLITE_OK);
    const std::unique_ptr<sqlite3, int (*)(sqlite3*)> lent{handle, sqlite3_close};
    ASSERT_EQ(sqlite3_exec(lent.get(), "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
    const transaction_ref inside = borrow(lent.get());
    job_queue{db_, "mail"}.enqueue_in(inside, {});
    ASSERT_EQ(sqlite3_exec(lent.get(), "COMMIT", nullptr, nullptr, nullptr), SQLITE_OK);
    EXPECT_EQ(list_jobs(db_).items.size(), 1U);
}

TEST_F(sqlite_test, a_statement_outside_of_transactions_commits_by_itself) {
    db_.execute("CREATE TABLE note (n INTEGER)");
    EXPECT_EQ(db_.execute("INSERT INTO note VALUES ($1)", {7U}).affected_rows, 1);
    EXPECT_EQ(db_.execute("SELECT n FROM note").rows.at(0).integer(0), 7);
    db_.execute("VACUUM");
    transaction tx = db_.begin();
    EXPECT_THROW(tx.execute("VACUUM"), error) << "the test is about what no transaction takes";
}

// SQLite itself runs the first of several statements, and says nothing of the others.
TEST_F(sqlite_test, a_second_statement_in_one_call_is_refused_and_the_first_not_run) {
    db_.execute("CREATE TABLE note (n INTEGER)");
    for (const char* each :
         {"INSERT INTO note VALUES (1); INSERT INTO note VALUES (2)",
          "INSERT INTO note VALUES (1); -- and\n DELETE FROM note",
          "INSERT INTO note VALUES (1); no statement at all"}) {
        try {
            db_.execute(each);
            ADD_FAILURE() << each;
        } catch (const error& refused) {
            EXPECT_EQ(refused.code(), errc::invalid_argument) << refused.what();
        }
    }
    EXPECT_EQ(db_.execute("SELECT count(*) FROM note").rows.at(0).integer(0), 0);
    db_.execute("INSERT INTO note VALUES (1); -- the only one\n /* and the end */ ;");
    EXPECT_EQ(db_.execute("SELECT count(*) FROM note").rows.at(0).integer(0), 1);
}

// SQLite reads no further than a zero byte: the DELETE would have no WHERE.
TEST_F(sqlite_test, a_statement_with_a_zero_byte_is_refused_and_not_cut_off) {
    using namespace std::string_view_literals;
    db_.execute("CREATE TABLE note (n INTEGER)");
    db_.execute("INSERT INTO note VALUES (1)");
    const auto refused = [](const auto& executes) {
        try {
            executes("DELETE FROM note\0 WHERE n = 2"sv);
            ADD_FAILURE();
        } catch (const error& failure) {
            EXPECT_EQ(failure.code(), errc::invalid_argument) << failure.what();
        }
    };
    refused([&](std::string_view sql) { db_.execute(sql); });
    refused([&](std::string_view sql) {
        transaction tx = db_.begin();
        tx.execute(sql);
    });
    refused([&](std::string_view sql) {
        db_.inner()->use([&](connection& on, store_set&) { on.execute_script(sql, {}); });
    });
    EXPECT_EQ(db_.execute("SELECT count(*) FROM note").rows.at(0).integer(0), 1);
}

TEST_F(sqlite_test, a_statement_that_rolls_back_ends_its_transaction) {
    db_.execute("CREATE TABLE note (n INTEGER PRIMARY KEY)");
    db_.execute("INSERT INTO note VALUES (1)");
    transaction tx = db_.begin();
    tx.execute("INSERT INTO note VALUES (2)");
    EXPECT_THROW(tx.execute("INSERT OR ROLLBACK INTO note VALUES (1)"), error);
    try {
        tx.execute("INSERT INTO note VALUES (3)");
        ADD_FAILURE() << "it would be committed at once";
    } catch (const error& refused) {
        EXPECT_EQ(refused.code(), errc::wrong_transaction) << refused.what();
    }
    tx.rollback();
    EXPECT_EQ(db_.execute("SELECT count(*) FROM note").rows.at(0).integer(0), 1);
}

TEST_F(sqlite_test, a_file_has_one_name_wherever_the_program_goes) {
    for (const char* each : {"?mode=ro", "?busy_timeout=5000", " "}) {
        EXPECT_THROW((void)sqlite::open("sqlite:" + (folder_ / "app.db").string() + each), error);
    }
    const auto before = std::filesystem::current_path();
    std::filesystem::current_path(folder_ / "");
    const database relative = sqlite::open("sqlite:app.db");
    std::filesystem::current_path(before);
    job_queue{relative, "mail"}.enqueue({});
    EXPECT_EQ(list_jobs(db_).items.size(), 1U);
}

TEST_F(sqlite_test, a_missing_table_is_named) {
    try {
        db_.execute("SELECT * FROM invoice");
        ADD_FAILURE();
    } catch (const error& failure) {
        EXPECT_EQ(failure.code(), errc::schema_missing);
        EXPECT_NE(std::string{failure.what()}.find("a table, invoice"), std::string::npos)
            << failure.what();
    }
}

TEST_F(sqlite_test, an_error_names_a_thing_of_the_schema_and_quotes_no_statement) {
    const auto words_of = [&](const char* sql) {
        try {
            db_.execute(sql);
        } catch (const error& failure) {
            return std::string{failure.what()};
        }
        return std::string{"no error"};
    };
    db_.execute("CREATE TABLE note (n TEXT)");
    const std::pair<const char*, const char*> cases[]{
        {"SELECT m FROM note", "no such column: m"},
        {"SELECT sing(n) FROM note", "no such function: sing"},
        {"INSERT INTO note (m) VALUES (1)", "table note has no column named m"},
        {"SELECT 1 'mine' 'secret'", "SQL logic error"}};
    for (const auto& [sql, reason] : cases) {
        const std::string words = words_of(sql);
        EXPECT_TRUE(words.ends_with(std::string{"refused a statement: "} + reason)) << words;
    }
}

// This is like a full disk. The program waits for room as for a server that is away.
TEST_F(sqlite_test, a_file_that_cannot_grow_may_pass) {
    db_.execute("CREATE TABLE note (n TEXT)");
    transaction tx = db_.begin();
    const auto pages = tx.execute("PRAGMA page_count").rows.at(0).integer(0);
    tx.execute("PRAGMA max_page_count = " + std::to_string(pages));
    try {
        tx.execute("INSERT INTO note VALUES (hex(zeroblob(1000000)))");
        FAIL() << "it has grown";
    } catch (const error& failure) {
        EXPECT_EQ(failure.code(), errc::database_error);
        EXPECT_TRUE(failure.is_transient());
        EXPECT_NE(std::string{failure.what()}.find("make room"), std::string::npos);
    }
}

// Otherwise a statement that changes one row would seem to have changed several where a trigger is.
TEST_F(sqlite_test, affected_rows_are_those_of_the_statement_and_not_of_triggers) {
    db_.execute("CREATE TABLE t (n INTEGER)");
    db_.execute("CREATE TABLE seen (n INTEGER)");
    db_.execute("CREATE TRIGGER see AFTER UPDATE ON t BEGIN INSERT INTO seen VALUES (1), (2); END");
    EXPECT_EQ(db_.execute("INSERT INTO t VALUES (1), (2)").affected_rows, 2);
    EXPECT_EQ(db_.execute("UPDATE t SET n = 3 WHERE n = 1").affected_rows, 1);
    EXPECT_EQ(db_.execute("SELECT * FROM seen").affected_rows, 0);
    EXPECT_EQ(db_.execute("UPDATE t SET n = 3 WHERE n = 1").affected_rows, 0);
    EXPECT_EQ(db_.execute("SELECT count(*) FROM seen").rows.at(0).integer(0), 2);
    EXPECT_EQ(db_.execute("DELETE FROM seen").affected_rows, 2);
}

// Root may read everything: it is somebody else for a moment.
TEST_F(sqlite_test, a_file_that_may_not_be_read_is_a_matter_of_rights) {
    using std::filesystem::perms;
    const auto file = folder_ / "app.db";
    std::filesystem::permissions(folder_.path(), perms::all);
    std::filesystem::permissions(file, perms::none);
    const bool is_root = geteuid() == 0;
    constexpr uid_t nobody = 65534;
    ASSERT_TRUE(!is_root || seteuid(nobody) == 0);
    std::optional<error> failure;
    try {
        open().execute("SELECT 1");
    } catch (const error& refused) {
        failure = refused;
    }
    ASSERT_TRUE(!is_root || seteuid(0) == 0);
    std::filesystem::permissions(file, perms::owner_read | perms::owner_write);
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->code(), errc::permission_denied) << failure->what();
    EXPECT_NE(std::string{failure->what()}.find("app.db may not be read; check"), std::string::npos)
        << failure->what();
}

// The writes of a lock, a command and a release are flushed by then. Flushing them again, into the
// database, took as long as all the rest.
TEST_F(sqlite_test, the_last_to_close_leaves_a_short_log_and_no_long_one) {
    db_.execute("CREATE TABLE note (n INTEGER, t BLOB)");
    db_.execute("INSERT INTO note VALUES (7, NULL)");
    db_ = open();
    ASSERT_TRUE(has_log());
    EXPECT_EQ(db_.execute("SELECT n FROM note").rows.at(0).integer(0), 7);
    db_.execute("INSERT INTO note VALUES (8, zeroblob(2000000))");
    db_ = open();
    EXPECT_FALSE(has_log());
    EXPECT_EQ(db_.execute("SELECT count(*) FROM note").rows.at(0).integer(0), 2);
    EXPECT_EQ(db_.execute("PRAGMA integrity_check").rows.at(0).text(0), "ok");
}

TEST_F(sqlite_test, a_log_whose_database_was_removed_is_not_read) {
    db_.execute("CREATE TABLE note (n INTEGER)");
    db_ = open();
    ASSERT_TRUE(has_log());
    std::filesystem::remove(folder_ / "app.db");
    migrate(db_);
    EXPECT_THROW(db_.execute("SELECT n FROM note"), error);
    EXPECT_EQ(db_.execute("PRAGMA integrity_check").rows.at(0).text(0), "ok");
}

}  // namespace
}  // namespace leasehold
