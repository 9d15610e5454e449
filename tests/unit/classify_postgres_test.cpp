// The meaning of PostgreSQL's SQLSTATEs: the whole table, so that a change of it is seen.
#include <gtest/gtest.h>

#include <ostream>
#include <string_view>

#include "driver/postgres_classify.hpp"
#include "leasehold/error.hpp"

namespace leasehold {

struct classified {
    std::string_view sqlstate;
    errc code;
};

void PrintTo(const classified& each, std::ostream* out) {
    *out << (each.sqlstate.empty() ? "none" : each.sqlstate) << " is " << name_of(each.code);
}

namespace {

class classify_postgres_test : public ::testing::TestWithParam<classified> {};

TEST_P(classify_postgres_test, a_state_has_its_meaning) {
    EXPECT_STREQ(name_of(classify_postgres(GetParam().sqlstate)), name_of(GetParam().code));
}

INSTANTIATE_TEST_SUITE_P(
    states,
    classify_postgres_test,
    ::testing::Values(
        // libpq itself failed
        classified{"", errc::connection_lost},
        // connections
        classified{"08000", errc::connection_lost},
        classified{"08001", errc::connection_failed},
        classified{"08003", errc::connection_lost},
        classified{"08004", errc::connection_failed},
        classified{"08006", errc::connection_lost},
        classified{"08007", errc::connection_lost},
        classified{"08P01", errc::connection_lost},
        classified{"28000", errc::connection_failed},
        classified{"28P01", errc::connection_failed},
        classified{"3D000", errc::connection_failed},
        classified{"53300", errc::connection_failed},
        classified{"57P01", errc::connection_lost},
        classified{"57P02", errc::connection_lost},
        classified{"57P03", errc::connection_failed},
        classified{"57P04", errc::connection_lost},
        classified{"57P05", errc::connection_lost},
        classified{"25P03", errc::connection_lost},
        classified{"25P04", errc::connection_lost},
        // worth another try
        classified{"40001", errc::transient},
        classified{"40P01", errc::transient},
        classified{"40000", errc::transient},
        classified{"55P03", errc::transient},
        classified{"72000", errc::transient},
        classified{"57014", errc::timed_out},
        classified{"40003", errc::connection_lost},
        // rows and schema
        classified{"23505", errc::constraint},
        classified{"23502", errc::constraint},
        classified{"23503", errc::constraint},
        classified{"23514", errc::constraint},
        classified{"23P01", errc::constraint},
        classified{"40002", errc::constraint},
        classified{"44000", errc::constraint},
        classified{"42P01", errc::schema_missing},
        classified{"3F000", errc::schema_missing},
        classified{"42703", errc::schema_mismatch},
        classified{"42501", errc::permission_denied},
        // transactions
        classified{"25006", errc::read_only},
        classified{"25P01", errc::wrong_transaction},
        classified{"25P02", errc::wrong_transaction},
        classified{"25001", errc::wrong_transaction},
        classified{"2D000", errc::wrong_transaction},
        classified{"0A000", errc::unsupported},
        // anything else
        classified{"26000", errc::database_error},
        classified{"42P05", errc::database_error},
        classified{"42601", errc::database_error},
        classified{"53100", errc::database_error},
        classified{"22P02", errc::database_error},
        classified{"XX000", errc::database_error},
        classified{"57000", errc::database_error},
        classified{"0", errc::database_error}
    )
);

TEST(postgres_connect_error, may_pass_or_stays) {
    for (const std::string_view each :
         {"",
          "08000",
          "08001",
          "08004",
          "08006",
          "08P01",
          "53000",
          "53100",
          "53200",
          "53300",
          "53400",
          "57014",
          "57P01",
          "57P02",
          "57P03",
          "57P05"}) {
        EXPECT_TRUE(may_connect_later_postgres(each)) << each;
    }
    for (const std::string_view each :
         {"0A000",
          "28000",
          "28P01",
          "3D000",
          "42501",
          "42704",
          "55000",
          "57000",
          "57P04",
          "58030",
          "XX000"}) {
        EXPECT_FALSE(may_connect_later_postgres(each)) << each;
    }
}

TEST(postgres_exhaustion, is_told_by_its_class) {
    // resources, disk, memory, connections, a limit of the configuration
    for (const char* each : {"53000", "53100", "53200", "53300", "53400"}) {
        EXPECT_TRUE(is_exhausted_postgres(each)) << each;
    }
    for (const char* each : {"", "54000", "57P03", "58030", "42P01"}) {
        EXPECT_FALSE(is_exhausted_postgres(each)) << each;
    }
}

}  // namespace
}  // namespace leasehold
