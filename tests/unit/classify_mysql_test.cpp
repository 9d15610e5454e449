// The meaning of the error numbers of MySQL, MariaDB and their client libraries.
#include <gtest/gtest.h>

#include <initializer_list>
#include <ostream>
#include <vector>

#include "core/outcome.hpp"
#include "driver/mysql_classify.hpp"
#include "driver/mysql_errors.hpp"
#include "leasehold/error.hpp"

namespace leasehold {
namespace {

struct expectation {
    int native_code;
    errc code;
};

void PrintTo(const expectation& each, std::ostream* out) {
    *out << each.native_code << " is " << name_of(each.code);
}

class mysql_error_number : public ::testing::TestWithParam<expectation> {};

TEST_P(mysql_error_number, has_its_meaning) {
    const auto [native_code, code] = GetParam();
    EXPECT_STREQ(name_of(classify_mysql(native_code)), name_of(code)) << native_code;
}

INSTANTIATE_TEST_SUITE_P(
    transient,
    mysql_error_number,
    ::testing::Values(
        expectation{1205, errc::transient},  // lock wait
        expectation{1213, errc::transient},  // deadlock
        expectation{1020, errc::transient},  // snapshot conflict of MariaDB
        expectation{1206, errc::transient},
        expectation{1412, errc::transient},
        expectation{1614, errc::transient},
        expectation{3058, errc::transient},
        expectation{3101, errc::transient},
        expectation{3572, errc::transient},  // NOWAIT of MySQL
        expectation{9001, errc::transient}   // ProxySQL has no server
    )
);

INSTANTIATE_TEST_SUITE_P(
    connections,
    mysql_error_number,
    ::testing::Values(
        expectation{1040, errc::connection_failed},
        expectation{1045, errc::connection_failed},
        expectation{1049, errc::connection_failed},
        expectation{1130, errc::connection_failed},
        expectation{1203, errc::connection_failed},
        expectation{1226, errc::connection_failed},
        expectation{1698, errc::connection_failed},
        expectation{2002, errc::connection_failed},
        expectation{2003, errc::connection_failed},
        expectation{2005, errc::connection_failed},
        expectation{2059, errc::connection_failed},
        expectation{1041, errc::connection_failed},
        expectation{1042, errc::connection_failed},
        expectation{1043, errc::connection_failed},
        expectation{1135, errc::connection_failed},
        expectation{3168, errc::connection_failed},
        expectation{1053, errc::connection_lost},
        expectation{1077, errc::connection_lost},
        expectation{1078, errc::connection_lost},
        expectation{1079, errc::connection_lost},
        expectation{1080, errc::connection_lost},
        expectation{1156, errc::connection_lost},
        expectation{1184, errc::connection_lost},
        expectation{5010, errc::connection_failed},
        expectation{5013, errc::connection_lost},
        expectation{5014, errc::connection_lost},
        expectation{5026, errc::connection_lost},
        expectation{1927, errc::connection_lost},
        expectation{2006, errc::connection_lost},
        expectation{2013, errc::connection_lost},
        expectation{2026, errc::connection_lost},
        expectation{3169, errc::connection_lost},
        expectation{4031, errc::connection_lost},
        expectation{1317, errc::timed_out},
        expectation{1969, errc::timed_out},
        expectation{3024, errc::timed_out}
    )
);

INSTANTIATE_TEST_SUITE_P(
    statements,
    mysql_error_number,
    ::testing::Values(
        expectation{1022, errc::constraint},
        expectation{1048, errc::constraint},
        expectation{1062, errc::constraint},
        expectation{1451, errc::constraint},
        expectation{1452, errc::constraint},
        expectation{3819, errc::constraint},
        expectation{4025, errc::constraint},
        expectation{1146, errc::schema_missing},
        expectation{1054, errc::schema_mismatch},
        expectation{1044, errc::permission_denied},
        expectation{1142, errc::permission_denied},
        expectation{1143, errc::permission_denied},
        expectation{1227, errc::permission_denied},
        expectation{1290, errc::read_only},
        expectation{1792, errc::read_only},
        expectation{1836, errc::read_only},
        expectation{1665, errc::unsupported},
        expectation{1064, errc::database_error},
        expectation{1406, errc::database_error},
        expectation{0, errc::database_error},
        expectation{-1, errc::database_error},
        expectation{1000000, errc::database_error}
    )
);

TEST(mysql_error_numbers, of_a_stopped_statement_or_lost_connection_proves_nothing) {
    for (const int each : {1317, 1969, 1927, 2013, 2026}) {
        EXPECT_FALSE(proves_not_done(classify_mysql(each))) << each;
    }
    for (const int each : {1205, 1213, 1020, 1062, 1146, 1792}) {
        EXPECT_TRUE(proves_not_done(classify_mysql(each))) << each;
    }
}

TEST(mysql_error_numbers, a_commit_that_a_cluster_refused_is_a_deadlock) {
    const mysql::failure refused{
        1180, "HY000", "Got error 149 - 'Lock deadlock; Retry transaction' during COMMIT"};
    const error said = mysql::statement_error("MySQL at here", refused, true);
    EXPECT_EQ(said.code(), errc::transient);
    EXPECT_EQ(said.native_code(), 1213);
    EXPECT_FALSE(said.outcome_is_unknown());
}

// The storage engine may have failed before or after the binary log, or another engine, committed.
TEST(mysql_error_numbers, a_commit_that_failed_otherwise_may_have_been_done) {
    const mysql::failure full{1180, "HY000", "Got error 28 - 'No space left' during COMMIT"};
    const error said = mysql::statement_error("MySQL at here", full, true);
    EXPECT_EQ(said.code(), errc::database_error);
    EXPECT_EQ(said.native_code(), 1180);
    EXPECT_TRUE(said.is_transient());
    EXPECT_TRUE(said.outcome_is_unknown());
    EXPECT_NE(std::string{said.what()}.find("make room"), std::string::npos) << said.what();
    EXPECT_NE(std::string{said.what()}.find("may have been done"), std::string::npos);
    EXPECT_FALSE(mysql::statement_error("MySQL at here", full, false).outcome_is_unknown());
    const mysql::failure other{1180, "HY000", "Got error 168 - 'Unknown error' during COMMIT"};
    const error unnamed = mysql::statement_error("MySQL at here", other, true);
    EXPECT_FALSE(unnamed.is_transient());
    EXPECT_TRUE(unnamed.outcome_is_unknown());
    EXPECT_NE(std::string{unnamed.what()}.find("ask before repeating"), std::string::npos);
}

// The table of docs/decisions/engines.md, row by row: whether a caller may go on.
struct condition {
    const char* name;
    int native_code;
    const char* words;
    bool is_transient;
};

TEST(mysql_conditions, of_statements_pass_or_stay) {
    for (const condition& each : {
             condition{"disk full", 1021, "Disk full (/tmp/#sql_1_0.MAI); waiting", true},
             condition{"disk full", 1114, "The table 'job' is full", true},
             condition{"disk full", 3675, "Create table/tablespace 'x' failed, disk full", true},
             condition{"disk full", 3, "Error writing file '/tmp/M' (Errcode: 28 \"No\")", true},
             condition{"disk full", 1026, "Error writing file 'b' (errno: 28 - No space)", true},
             condition{"disk full", 1030, "Got error 28 from storage engine", true},
             condition{"disk full", 1180, "Got error 28 - 'No space' during COMMIT", true},
             condition{"out of memory", 1037, "Out of memory; restart server", true},
             condition{"out of memory", 1038, "Out of sort memory", true},
             condition{"out of memory", 1041, "Out of memory", true},
             condition{"standby", 1290, "running with the --read-only option", true},
             condition{"standby", 1836, "Running in read-only mode", true},
             condition{"read-only", 1792, "Cannot execute in a READ ONLY transaction", false},
             condition{"read-only", 1036, "Table 'job' is read only", false},
             condition{"under repair", 1034, "Incorrect key file for table 'job'", true},
             condition{"under repair", 1035, "Old key file for table 'job'; repair it!", true},
             condition{"under repair", 1194, "Table 'job' is marked as crashed", true},
             condition{"under repair", 1195, "Table 'job' is marked as crashed and", true},
             condition{"under repair", 1015, "Can't lock file (errno: 145 - Table was)", true},
             condition{"under repair", 1016, "Can't open file: 'job' (errno: 144)", true},
             condition{"under repair", 1030, "Got error 126 \"Index is corrupted\" from", true},
             condition{"no such file", 1016, "Can't open file: 'job' (errno: 2 - No such)", false},
             condition{"other engine", 1030, "Got error 168 from storage engine", false},
             condition{"damaged", 1712, "Index job_order is corrupted", false},
             condition{"not ready", 1047, "WSREP has not yet prepared node", true},
             condition{"changed", 1412, "Table definition has changed, please retry", true},
             condition{"wrong", 1064, "You have an error in your SQL syntax near 28", false},
         }) {
        const mysql::failure said{each.native_code, "HY000", each.words};
        EXPECT_EQ(
            mysql::statement_error("MySQL at here", said, false).is_transient(), each.is_transient
        ) << each.name
          << ' ' << each.native_code << ": " << each.words;
    }
}

TEST(mysql_conditions, of_attempts_to_connect_pass_or_stay) {
    for (const condition& each : {
             condition{"too many connections", 1040, "Too many connections", true},
             condition{"too many connections", 1203, "max_user_connections", true},
             condition{"too many connections", 1226, "has exceeded the resource", true},
             condition{"out of memory", 1041, "Out of memory", true},
             condition{"out of memory", 1135, "Can't create a new thread (errno 11)", true},
             condition{"starts or stops", 1053, "Server shutdown in progress", true},
             condition{"starts or stops", 1077, "Normal shutdown", true},
             condition{"starts or stops", 1078, "Got signal", true},
             condition{"starts or stops", 1079, "Shutdown complete", true},
             condition{"starts or stops", 1080, "Forcing close of thread", true},
             condition{"starts or stops", 2002, "Can't connect through socket", true},
             condition{"starts or stops", 3168, "Server isn't available", true},
             condition{"starts or stops", 2003, "Can't connect to MySQL server", true},
             condition{"starts or stops", 3032, "The server is currently in offline mode", true},
             condition{"wrong password", 1045, "Access denied for user", false},
             condition{"no database", 1049, "Unknown database", false},
             condition{"blocked host", 1129, "Host is blocked", false},
         }) {
        const mysql::failure said{each.native_code, "HY000", each.words};
        EXPECT_EQ(mysql::connect_error({}, said).is_transient(), each.is_transient)
            << each.name << ' ' << each.native_code << ": " << each.words;
    }
}

struct attempt {
    int native_code;
    const char* words;
    bool may_pass;
};

void PrintTo(const attempt& each, std::ostream* out) {
    *out << each.native_code << ' ' << each.words << (each.may_pass ? " may pass" : " stays");
}

class mysql_connect_error : public ::testing::TestWithParam<attempt> {};

TEST_P(mysql_connect_error, may_pass_or_stays) {
    const auto& [native_code, words, may_pass] = GetParam();
    EXPECT_EQ(may_connect_later_mysql(native_code, words), may_pass);
}

std::vector<attempt> all_of(std::initializer_list<int> numbers, bool may_pass) {
    std::vector<attempt> made;
    for (const int each : numbers) made.push_back({each, "", may_pass});
    return made;
}

TEST(mysql_exhaustion, is_told_by_numbers_and_words) {
    for (const int each : {1021, 1037, 1038, 1041, 1114, 3675}) {
        EXPECT_TRUE(is_exhausted_mysql(each, "")) << each;
    }
    for (const char* each :
         {"Got error 28 from storage engine",
          "Got error 28 - 'No space left on device' from storage engine",
          "Got error 28 \"No space left on device\" from storage engine InnoDB",
          "Error writing file './binlog.000002' (errno: 28 - No space left on device)",
          "Error writing file '/tmp/MYfd=7' (Errcode: 28 \"No space left on device\")"}) {
        for (const int number : {3, 1026, 1030}) {
            EXPECT_TRUE(is_exhausted_mysql(number, each)) << number << ": " << each;
            EXPECT_EQ(classify_mysql(number), errc::database_error);
        }
        EXPECT_FALSE(is_exhausted_mysql(1064, each)) << each;
    }
    EXPECT_FALSE(is_exhausted_mysql(1030, "Got error 280 from storage engine"));
    EXPECT_FALSE(is_exhausted_mysql(1030, "Got error 168 from storage engine"));
    EXPECT_FALSE(is_exhausted_mysql(1205, ""));
    const auto full = mysql::statement_error("MySQL at h:1/d", {1114, "HY000", "The table"}, true);
    EXPECT_TRUE(full.is_transient());
    EXPECT_FALSE(full.outcome_is_unknown());
    EXPECT_NE(std::string{full.what()}.find("out of disk space"), std::string::npos);
    EXPECT_FALSE(mysql::statement_error("MySQL", {1064, "42000", "syntax"}, true).is_transient());
}

TEST(mysql_standby, is_told_by_numbers_and_words) {
    for (const char* each :
         {"The MySQL server is running with the --read-only option so it cannot execute this "
          "statement",
          "The MySQL server is running with the --super-read-only option so it cannot execute this "
          "statement",
          "Der MariaDB-Server l\303\244uft mit der Option --read-only",
          "The MariaDB server is running with the --read_only=ON option"}) {
        EXPECT_TRUE(is_standby_mysql(1290, each)) << each;
        EXPECT_FALSE(is_standby_mysql(1792, each)) << each;
        const auto refused = mysql::statement_error("MySQL at h:1/d", {1290, "HY000", each}, true);
        EXPECT_EQ(refused.code(), errc::read_only);
        EXPECT_TRUE(refused.is_transient());
        EXPECT_FALSE(refused.outcome_is_unknown());
    }
    EXPECT_TRUE(is_standby_mysql(1836, "Running in read-only mode"));
    for (const char* each :
         {"The MySQL server is running with the --secure-file-priv option so it cannot execute "
          "this statement",
          "The MySQL server is running with the --skip-grant-tables option so it cannot execute "
          "this statement",
          ""}) {
        EXPECT_FALSE(is_standby_mysql(1290, each)) << each;
        EXPECT_FALSE(mysql::statement_error("MySQL", {1290, "HY000", each}, true).is_transient());
    }
    // A transaction, a table or a schema, which stays so.
    for (const int each : {1036, 1223, 1792, 1874, 3989}) {
        EXPECT_FALSE(is_standby_mysql(each, "read-only")) << each;
    }
}

INSTANTIATE_TEST_SUITE_P(
    server_starts_stops_or_is_full,
    mysql_connect_error,
    ::testing::ValuesIn(all_of(
        {1040, 1041, 1042, 1043, 1047, 1053, 1077, 1078, 1079, 1080, 1135, 1152, 1156,
         1158, 1159, 1160, 1161, 1184, 1203, 1226, 1927, 3032, 3168, 3169, 4031, 9001},
        true
    ))
);

INSTANTIATE_TEST_SUITE_P(
    network_or_proxy_cut_the_line,
    mysql_connect_error,
    ::testing::ValuesIn(all_of(
        {2000,
         2001,
         2002,
         2003,
         2004,
         2006,
         2008,
         2011,
         2012,
         2013,
         2014,
         2027,
         2055,
         5013,
         5014,
         5015,
         5026},
        true
    ))
);

INSTANTIATE_TEST_SUITE_P(
    needs_a_person,
    mysql_connect_error,
    ::testing::ValuesIn(all_of(
        {1044, 1045, 1049, 1129, 1130, 1153, 1227, 1251, 1524, 1698, 1820, 1862, 3118,   3159,
         4151, 2007, 2009, 2019, 2020, 2047, 2049, 2054, 2058, 2059, 2060, 2061, 2062,   2063,
         2064, 2065, 2066, 2067, 2070, 5001, 5004, 5010, 5012, 5024, 0,    -1,   1000000},
        false
    ))
);

INSTANTIATE_TEST_SUITE_P(
    by_their_words,
    mysql_connect_error,
    ::testing::Values(
        attempt{2005, "Unknown server host 'db' (-2)", false},
        attempt{2005, "Unknown server host 'db' (-3)", true},  // EAI_AGAIN
        attempt{2026, "TLS/SSL error: The TLS connection was non-properly terminated.", true},
        attempt{2026, "SSL connection error: unexpected eof while reading", true},
        attempt{2026, "SSL connection error: Error in the pull function.", true},
        attempt{2026, "SSL connection error: An unexpected TLS packet was received.", true},
        attempt{2026, "TLS/SSL error: Connection reset by peer (104)", true},
        attempt{2026, "SSL connection error: error:00000000:lib(0)::reason(0)", true},
        attempt{2026, "SSL connection error: certificate verify failed", false},
        attempt{2026, "TLS/SSL error: Certificate verification failure", false},
        attempt{2026, "TLS/SSL error: self-signed certificate in certificate chain", false},
        attempt{2026, "SSL connection error: Validation of SSL server certificate failed", false},
        attempt{2026, "TLS/SSL error: Error while reading file.", false},
        attempt{2026, "SSL connection error: No such file or directory", false},
        attempt{2026, "SSL connection error: unsupported protocol version", false},
        attempt{2026, "SSL is required, but the server doesn't support it", false}
    )
);

}  // namespace
}  // namespace leasehold
