// leasehold::error: the conclusions that a caller may draw from each code.
#include "leasehold/error.hpp"

#include <gtest/gtest.h>

#include <ostream>
#include <set>
#include <string_view>
#include <type_traits>

#include "core/error.hpp"
#include "core/outcome.hpp"
#include "leasehold/key.hpp"

namespace leasehold {
namespace {

struct conclusions {
    errc code;
    const char* name;
    bool is_transient;
    bool connection_is_lost;
    bool proves_not_done;
};

void PrintTo(const conclusions& each, std::ostream* out) {
    *out << each.name;
}

constexpr conclusions all[] = {
    {errc::invalid_argument, "invalid_argument", false, false, true},
    {errc::connection_failed, "connection_failed", false, true, true},
    {errc::connection_lost, "connection_lost", true, true, false},
    {errc::timed_out, "timed_out", true, false, false},
    {errc::transient, "transient", true, false, true},
    {errc::constraint, "constraint", false, false, true},
    {errc::schema_missing, "schema_missing", false, false, true},
    {errc::schema_mismatch, "schema_mismatch", false, false, true},
    {errc::permission_denied, "permission_denied", false, false, true},
    {errc::read_only, "read_only", false, false, true},
    {errc::lease_lost, "lease_lost", false, false, true},
    {errc::session_lost, "session_lost", false, false, true},
    {errc::wrong_transaction, "wrong_transaction", false, false, true},
    {errc::unsupported, "unsupported", false, false, true},
    {errc::busy, "busy", false, false, true},
    {errc::database_error, "database_error", false, false, true},
    {errc::would_deadlock, "would_deadlock", false, false, true},
};

class error_code : public ::testing::TestWithParam<conclusions> {};

TEST_P(error_code, allows_these_conclusions_and_no_other) {
    const error failure{GetParam().code, "it failed"};
    EXPECT_EQ(failure.code(), GetParam().code);
    EXPECT_STREQ(name_of(failure.code()), GetParam().name);
    EXPECT_EQ(failure.is_transient(), GetParam().is_transient);
    EXPECT_EQ(failure.connection_is_lost(), GetParam().connection_is_lost);
    EXPECT_EQ(proves_not_done(failure.code()), GetParam().proves_not_done);
    EXPECT_FALSE(failure.outcome_is_unknown()) << "only where the driver says so";
}

INSTANTIATE_TEST_SUITE_P(error, error_code, ::testing::ValuesIn(all));

TEST(error_test, every_code_has_a_name_of_its_own) {
    std::set<std::string> names;
    for (const auto& each : all) names.insert(each.name);
    EXPECT_EQ(names.size(), std::size(all));
    EXPECT_STREQ(name_of(errc{0}), "unknown");
    EXPECT_STREQ(name_of(errc{18}), "unknown") << "the table above lacks a code";
}

TEST(error_test, a_connection_that_failed_for_now_is_transient) {
    error_facts facts;
    facts.is_passing = true;
    EXPECT_TRUE(error(errc::connection_failed, "starting up", facts).is_transient());
    EXPECT_FALSE(error(errc::connection_failed, "wrong password").is_transient());
    EXPECT_FALSE(error(errc::permission_denied, "no", facts).is_transient());
}

TEST(error_test, what_the_server_said_is_kept_apart_from_the_message) {
    const error failure{
        errc::constraint, "a row was refused", {"23505", 1062, "(name)=(Eve)", true}};
    EXPECT_STREQ(failure.what(), "a row was refused");
    EXPECT_EQ(failure.sqlstate(), "23505");
    EXPECT_EQ(failure.native_code(), 1062);
    EXPECT_EQ(failure.server_message(), "(name)=(Eve)");
    EXPECT_TRUE(failure.outcome_is_unknown());
}

// An exception that throws while it is copied ends the program.
TEST(error_test, copying_never_throws_and_shares_the_facts) {
    EXPECT_TRUE(std::is_nothrow_copy_constructible_v<error>);
    EXPECT_TRUE(std::is_nothrow_copy_assignable_v<error>);
    const error first{errc::transient, "deadlock", {"40P01", 0, "", false}};
    const error second = first;
    EXPECT_EQ(&first.sqlstate(), &second.sqlstate());
}

TEST(error_test, said_in_other_words_it_keeps_what_the_server_said) {
    const error_facts facts{"57P03", 7, "starting", false, true};
    const error said =
        reworded({errc::connection_failed, "it failed", facts}, "it failed so", true);
    EXPECT_STREQ(said.what(), "it failed so");
    EXPECT_EQ(said.code(), errc::connection_failed);
    EXPECT_EQ(said.sqlstate(), "57P03");
    EXPECT_EQ(said.native_code(), 7);
    EXPECT_EQ(said.server_message(), "starting");
    EXPECT_TRUE(said.outcome_is_unknown());
    EXPECT_TRUE(said.is_transient());
    EXPECT_FALSE(reworded({errc::connection_failed, "no"}, "no", false).is_transient());
}

TEST(error_test, programs_that_know_the_standard_library_alone_can_tell_errors_apart) {
    try {
        throw error{errc::timed_out, "no answer"};
    } catch (const std::system_error& failure) {
        EXPECT_EQ(failure.code(), errc::timed_out);
        EXPECT_EQ(failure.code(), std::errc::timed_out);
        EXPECT_NE(failure.code(), errc::busy);
        EXPECT_EQ(failure.code().message(), "timed_out");
        EXPECT_STREQ(failure.code().category().name(), "leasehold");
        EXPECT_STREQ(failure.what(), "no answer");
    }
}

}  // namespace
}  // namespace leasehold
