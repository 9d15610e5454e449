// A proof through the caller's own SOCI session holds for the writes through it, on every engine
// SOCI and leasehold share.
#include <gtest/gtest.h>
#include <soci/mysql/soci-mysql.h>
#include <soci/postgresql/soci-postgresql.h>
#include <soci/soci.h>
// Declares sqlite3.h inside of a namespace: no other header may have included it.
#include <soci/sqlite3/soci-sqlite3.h>

#include <cstdlib>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <regex>
#include <string>

#include "leasehold/driver/mysql.hpp"
#include "leasehold/driver/postgres.hpp"
#include "leasehold/driver/soci.hpp"
#include "leasehold/driver/sqlite.hpp"
#include "leasehold/leasehold.hpp"
#include "support/folder.hpp"
#include "support/patient.hpp"
#include "support/required.hpp"

namespace leasehold {
namespace {

using namespace std::chrono_literals;

error failure_of(const std::function<void()>& action) {
    try {
        action();
    } catch (const error& thrown) {
        return thrown;
    }
    ADD_FAILURE() << "nothing was thrown";
    return error{errc{}, "nothing was thrown"};
}

bool is_required(const std::string& name) {
    const char* const list = std::getenv("LEASEHOLD_REQUIRED_BACKENDS");
    return ("," + std::string{list == nullptr ? "" : list} + ",").find("," + name + ",") !=
           std::string::npos;
}

// "host=… port=… dbname=… user=… password=…", as SOCI's backends want it.
std::string soci_words(const std::string& url, const std::string& database_word) {
    static const std::regex shape{"[a-z]+://([^:@]+):([^@]*)@([^:/]+):([0-9]+)/([^?]+).*"};
    std::smatch parts;
    if (!std::regex_match(url, parts, shape)) throw std::runtime_error("not a test server's URL");
    return "host=" + parts[3].str() + " port=" + parts[4].str() + " " + database_word + "=" +
           parts[5].str() + " user=" + parts[1].str() + " password=" + parts[2].str();
}

class soci_test : public ::testing::TestWithParam<const char*> {
protected:
    void SetUp() override {
        name_ = GetParam();
        if (name_ == "sqlite") {
            url_ = "sqlite:" + folder_.path() + "/soci.db";
        } else {
            std::string variable = "LEASEHOLD_TEST_" + name_ + "_URL";
            for (char& each : variable) each = static_cast<char>(std::toupper(each));
            const char* const url = std::getenv(variable.c_str());
            if (url == nullptr && is_required(name_)) {
                FAIL() << name_ << " is required and " << variable << " is not set";
            }
            if (url == nullptr) GTEST_SKIP() << variable << " is not set: see tests/run";
            url_ = url;
        }
        prefix_ = testing::fresh_prefix();
        db_.emplace(open());
        migrate(*db_);
        connect(sql_);
        sql_ << "CREATE TABLE " + prefix_ + "probe (n INTEGER)" +
                    (is_mysql() ? " ENGINE=InnoDB" : "");
        session_.emplace(*db_, session_settings{.name = "soci_test"});
    }

    void TearDown() override {
        session_.reset();
        if (sql_.get_backend() != nullptr) sql_.close();
        if (db_) {
            soci::session cleaning;
            connect(cleaning);
            cleaning << "DROP TABLE " + prefix_ + "probe";
            migrate_down(*db_, 0);
        }
    }

    database open() const {
        database_settings settings = testing::patient();
        settings.names.prefix = prefix_;
        if (name_ == "sqlite") return sqlite::open(url_, settings);
        if (name_ == "postgres") return postgres::open(url_, settings);
        return mysql::open(url_, settings);
    }

    void connect(soci::session& into) const {
        if (name_ == "sqlite") {
            into.open(soci::sqlite3, url_.substr(std::string_view{"sqlite:"}.size()));
        } else if (name_ == "postgres") {
            into.open(soci::postgresql, soci_words(url_, "dbname"));
        } else {
            into.open(soci::mysql, soci_words(url_, "db"));
        }
    }

    bool is_mysql() const { return name_ == "mysql" || name_ == "mariadb"; }
    std::string place(int number) const {
        return name_ == "postgres" ? "$" + std::to_string(number) : "?";
    }

    void write(int number) {
        sql_ << "INSERT INTO " + prefix_ + "probe VALUES (:n)", soci::use(number);
    }
    // The number of committed rows, seen from another connection.
    long long committed() const {
        soci::session other;
        connect(other);
        long long rows = -1;
        other << "SELECT COUNT(*) FROM " + prefix_ + "probe", soci::into(rows);
        return rows;
    }

    // Everything the caller could have set.
    std::map<std::string, std::string> settings_of_caller() {
        std::map<std::string, std::string> found;
        if (name_ == "sqlite") {
            for (const char* each :
                 {"journal_mode",
                  "synchronous",
                  "busy_timeout",
                  "foreign_keys",
                  "locking_mode",
                  "read_uncommitted",
                  "recursive_triggers",
                  "query_only",
                  "cache_size",
                  "wal_autocheckpoint",
                  "temp_store",
                  "defer_foreign_keys",
                  "user_version"}) {
                int number = -1;
                std::string text;
                if (std::string_view{each}.find("mode") != std::string_view::npos) {
                    sql_ << std::string{"PRAGMA "} + each, soci::into(text);
                } else {
                    sql_ << std::string{"PRAGMA "} + each, soci::into(number);
                }
                found[each] = text + std::to_string(number);
            }
            return found;
        }
        // Clocks and counters that go on by themselves.
        static const std::regex moving{
            "timestamp|rand_seed.|last_insert_id|identity|.*gtid.*|pseudo_.*|in_transaction|"
            "insert_id|error_count|warning_count|.*statement_id"};
        const soci::rowset<soci::row> rows = sql_.prepare
                                             << (is_mysql()
                                                     ? "SHOW SESSION VARIABLES"
                                                     : "SELECT name::text, setting FROM pg_settings"
                                                );
        for (const soci::row& each : rows) {
            const auto name = each.get<std::string>(0);
            if (!std::regex_match(name, moving)) found[name] = each.get<std::string>(1, "");
        }
        return found;
    }

    const testing::folder folder_{};
    std::string name_, url_, prefix_;
    std::optional<database> db_;
    std::optional<session> session_;
    soci::session sql_;
};

TEST_P(soci_test, proof_holds_in_the_callers_transaction) {
    mutex closing{*session_, "closing"};
    acquisition lease = closing.try_acquire();
    ASSERT_TRUE(lease);
    soci::transaction tr{sql_};
    write(1);
    lease->verify_in(borrow(sql_));
    EXPECT_EQ(committed(), 0) << "the proof has committed what is the caller's to commit";
    tr.commit();
    EXPECT_EQ(committed(), 1);
}

TEST_P(soci_test, lost_lease_is_refused_and_nothing_written) {
    mutex closing{*session_, "closing"};
    acquisition lease = closing.try_acquire();
    ASSERT_TRUE(lease);
    ASSERT_TRUE(force_release(*db_, "closing"));
    mutex after{*session_, "closing"};
    acquisition successor = after.try_acquire();
    ASSERT_TRUE(successor);
    {
        soci::transaction tr{sql_};
        write(1);
        const error refused = failure_of([&] { lease->verify_in(borrow(sql_)); });
        EXPECT_EQ(refused.code(), errc::lease_lost) << refused.what();
        tr.rollback();
    }
    EXPECT_EQ(committed(), 0);
    soci::transaction tr{sql_};
    write(2);
    successor->verify_in(borrow(sql_));
    tr.commit();
    EXPECT_EQ(committed(), 1);
}

TEST_P(soci_test, proof_needs_a_transaction) {
    mutex closing{*session_, "closing"};
    acquisition lease = closing.try_acquire();
    ASSERT_TRUE(lease);
    EXPECT_EQ(failure_of([&] { lease->verify_in(borrow(sql_)); }).code(), errc::wrong_transaction);
    {
        soci::transaction tr{sql_};
        write(1);
        tr.commit();
    }
    EXPECT_EQ(failure_of([&] { lease->verify_in(borrow(sql_)); }).code(), errc::wrong_transaction);
}

TEST_P(soci_test, settings_of_the_caller_stay) {
    mutex closing{*session_, "closing"};
    acquisition lease = closing.try_acquire();
    ASSERT_TRUE(lease);
    const auto before = settings_of_caller();
    ASSERT_GT(before.size(), 10U);
    soci::transaction tr{sql_};
    const auto inside = settings_of_caller();
    lease->verify_in(borrow(sql_));
    EXPECT_EQ(settings_of_caller(), inside);
    tr.commit();
    EXPECT_EQ(settings_of_caller(), before);
}

TEST_P(soci_test, says_which_engine_it_is) {
    const borrowed_connection lent = borrow(sql_);
    EXPECT_EQ(name_of(lent.inside().server().engine), name_);
    EXPECT_EQ(lent.inside().server().version, db_->server().version);
    EXPECT_EQ(lent.inside().server().version_text, db_->server().version_text);
}

TEST_P(soci_test, state_is_that_of_the_session) {
    const borrowed_connection lent = borrow(sql_);
    EXPECT_EQ(lent.inside().state(), connection_state::idle);
    {
        soci::transaction tr{sql_};
        EXPECT_EQ(lent.inside().state(), connection_state::in_transaction);
        write(1);
        EXPECT_EQ(lent.inside().state(), connection_state::in_transaction);
    }
    EXPECT_EQ(lent.inside().state(), connection_state::idle);
}

TEST_P(soci_test, transaction_is_the_callers_to_end) {
    const borrowed_connection lent = borrow(sql_);
    EXPECT_EQ(failure_of([&] { lent.inside().begin(); }).code(), errc::unsupported);
    soci::transaction tr{sql_};
    write(1);
    EXPECT_EQ(failure_of([&] { lent.inside().commit(); }).code(), errc::unsupported);
    lent.inside().rollback();
    EXPECT_EQ(committed(), 0);
    tr.commit();
    EXPECT_EQ(committed(), 1);
}

TEST_P(soci_test, values_travel_whole) {
    const borrowed_connection lent = borrow(sql_);
    const std::string wide = is_mysql() ? "CHAR" : "TEXT";
    const std::string whole = is_mysql() ? "SIGNED" : "BIGINT";
    const std::string types[] = {whole, wide, "", whole};
    std::string text = "SELECT ";
    for (int at = 0; at < 4; ++at) {
        const std::string& type = types[at];
        if (at > 0) text += ", ";
        if (type.empty()) {
            text += name_ == "postgres" ? place(at + 1) + "::bytea" : place(at + 1);
        } else {
            text += "CAST(" + place(at + 1) + " AS " + type + ")";
        }
    }
    using namespace std::string_literals;
    const auto least = std::numeric_limits<std::int64_t>::min();
    const std::string odd = "it's \\ \xC3\xA9 \"?\" :n";
    const blob bytes{"\0\xff'\\"s};
    const result said = lent.inside().execute(text, {least, odd, bytes, nullptr});
    ASSERT_EQ(said.rows.size(), 1U);
    EXPECT_EQ(said.rows[0].integer(0), least);
    EXPECT_EQ(said.rows[0].text(1), odd);
    EXPECT_EQ(said.rows[0].bytes(2), bytes.bytes);
    EXPECT_TRUE(said.rows[0].is_null(3));
}

TEST_P(soci_test, columns_have_names) {
    const result found = borrow(sql_).inside().execute("SELECT 7 AS seven, 'x' AS letter");
    EXPECT_EQ(found.rows.at(0).integer("seven"), 7);
    EXPECT_EQ(found.rows.at(0).text("letter"), "x");
}

TEST_P(soci_test, counts_what_a_statement_changed) {
    const borrowed_connection lent = borrow(sql_);
    soci::transaction tr{sql_};
    const std::string table = prefix_ + "probe";
    EXPECT_EQ(
        lent.inside()
            .execute(
                "INSERT INTO " + table + " VALUES (" + place(1) + "), (" + place(2) + ")", {1, 2}
            )
            .affected_rows,
        2
    );
    EXPECT_EQ(lent.inside().execute("UPDATE " + table + " SET n = n + 10").affected_rows, 2);
    EXPECT_EQ(lent.inside().execute("DELETE FROM " + table + " WHERE n = 11").affected_rows, 1);
    const result all = lent.inside().execute_script(
        "DELETE FROM " + table + " WHERE n = 99; SELECT n FROM " + table + "; "
    );
    ASSERT_EQ(all.rows.size(), 1U);
    EXPECT_EQ(all.rows[0].integer(0), 12);
}

TEST_P(soci_test, failure_leaves_the_session_usable) {
    const borrowed_connection lent = borrow(sql_);
    const error refused =
        failure_of([&] { lent.inside().execute("SELECT * FROM nowhere_at_all"); });
    EXPECT_EQ(refused.code(), errc::schema_missing) << refused.what();
    EXPECT_FALSE(refused.connection_is_lost());
    soci::transaction tr{sql_};
    write(1);
    tr.commit();
    EXPECT_EQ(committed(), 1);
}

TEST_P(soci_test, session_without_connection_is_refused) {
    soci::session nothing;
    const error refused = failure_of([&] { borrow(nothing); });
    EXPECT_EQ(refused.code(), errc::connection_lost) << refused.what();
}

TEST_P(soci_test, what_would_bend_a_statement_is_refused_by_name) {
    const std::vector<std::string> hostile =
        is_mysql()
            ? std::vector<
                  std::
                      string>{"SET NAMES latin1", "SET timestamp = 1e9", "SET sql_select_limit = 1"}
        : name_ == "postgres" ? std::vector<std::string>{"SET client_encoding = 'LATIN1'"}
                              : std::vector<std::string>{};
    for (const std::string& each : hostile) {
        soci::session lent;
        connect(lent);
        lent << each;
        const borrowed_connection borrowed = borrow(lent);
        const error refused = failure_of([&] { borrowed.inside().execute("SELECT 1"); });
        EXPECT_EQ(refused.code(), errc::unsupported) << each;
    }
}

INSTANTIATE_TEST_SUITE_P(
    on,
    soci_test,
    ::testing::Values("postgres", "mariadb", "mysql", "sqlite"),
    [](const auto& each) { return std::string{each.param}; }
);

// ------------------------------------------------------------- MySQL and MariaDB only

class soci_mysql_test : public soci_test {};

TEST_P(soci_mysql_test, without_autocommit_there_is_always_a_transaction) {
    mutex closing{*session_, "closing"};
    acquisition lease = closing.try_acquire();
    ASSERT_TRUE(lease);
    sql_ << "SET autocommit = 0";
    lease->verify_in(borrow(sql_));
    write(1);
    EXPECT_EQ(committed(), 0);
    sql_ << "COMMIT";
    EXPECT_EQ(committed(), 1);
}

TEST_P(soci_mysql_test, connection_that_broke_is_lost) {
    const borrowed_connection lent = borrow(sql_);
    long long id = 0;
    sql_ << "SELECT CONNECTION_ID()", soci::into(id);
    const auto run = [&] { lent.inside().execute("SELECT 1"); };
    {
        transaction other = db_->begin();
        other.execute("KILL CONNECTION " + std::to_string(id));
    }
    const error broken = failure_of(run);
    EXPECT_EQ(broken.code(), errc::connection_lost) << broken.what();
    EXPECT_EQ(lent.inside().state(), connection_state::lost);
    EXPECT_EQ(failure_of(run).code(), errc::connection_lost);
}

INSTANTIATE_TEST_SUITE_P(
    on,
    soci_mysql_test,
    ::testing::Values("mariadb", "mysql"),
    [](const auto& each) { return std::string{each.param}; }
);

// ------------------------------------------------------------- other backends

// A backend we know nothing of; it is called what it is asked to connect to.
class strange_backend final : public soci::details::session_backend {
public:
    explicit strange_backend(std::string name) : name_(std::move(name)) {}
    bool is_connected() override { return true; }
    void begin() override {}
    void commit() override {}
    void rollback() override {}
    std::string get_dummy_from_table() const override { return ""; }
    std::string get_backend_name() const override { return name_; }
    soci::details::statement_backend* make_statement_backend() override { return nullptr; }
    soci::details::rowid_backend* make_rowid_backend() override { return nullptr; }
    soci::details::blob_backend* make_blob_backend() override { return nullptr; }

private:
    std::string name_;
};

class strange_factory final : public soci::backend_factory {
public:
    soci::details::session_backend* make_session(const soci::connection_parameters& parameters
    ) const override {
        return new strange_backend{parameters.get_connect_string()};
    }
};

TEST(soci_other_test, unknown_backend_is_refused_by_name) {
    const strange_factory factory;
    soci::session sql{factory, "firebird"};
    const error refused = failure_of([&] { borrow(sql); });
    EXPECT_EQ(refused.code(), errc::unsupported);
    EXPECT_NE(std::string{refused.what()}.find("firebird"), std::string::npos) << refused.what();
}

}  // namespace
}  // namespace leasehold
