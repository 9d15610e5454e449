// What the error numbers of MySQL, MariaDB and their client libraries mean.
#include <gtest/gtest.h>

#include <ostream>

#include "core/classify.hpp"

namespace leasehold {
namespace {

struct expectation {
    int native_code;
    errc code;
};

void PrintTo(const expectation& each, std::ostream* out) {
    *out << each.native_code << " is " << name_of(each.code);
}

class mysql_error_number : public testing::TestWithParam<expectation> {};

TEST_P(mysql_error_number, has_its_meaning) {
    const auto [native_code, code] = GetParam();
    EXPECT_STREQ(name_of(classify_mysql(native_code)), name_of(code)) << native_code;
}

INSTANTIATE_TEST_SUITE_P(
    transient,
    mysql_error_number,
    testing::Values(
        expectation{1205, errc::transient},  // lock wait
        expectation{1213, errc::transient},  // deadlock
        expectation{1020, errc::transient},  // snapshot conflict of MariaDB
        expectation{1206, errc::transient},
        expectation{1412, errc::transient},
        expectation{1614, errc::transient},
        expectation{3058, errc::transient},
        expectation{3101, errc::transient},
        expectation{3572, errc::transient}  // NOWAIT of MySQL
    )
);

INSTANTIATE_TEST_SUITE_P(
    connections,
    mysql_error_number,
    testing::Values(
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
        expectation{1053, errc::connection_lost},
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
    testing::Values(
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

}  // namespace
}  // namespace leasehold
