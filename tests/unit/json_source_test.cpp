// The text of a member of a JSON object, byte for byte.
#include "cli/show/json_source.hpp"

#include <gtest/gtest.h>

#include <string>

namespace leasehold::cli::testing {
namespace {

std::string payload_of(const std::string& object) {
    const auto found = member_of(object, "payload");
    return found ? found->text : "(none)";
}

TEST(json_source_test, a_value_is_passed_on_as_it_is_written) {
    for (const std::string each :
         {"12345678901234567890123456789",
          "0.10",
          "1e400",
          "-1.5E-400",
          "{\"z\": 1,  \"a\": 2, \"z\": 3}",
          "[1, {\"payload\": \"}\"}, \"\\\"]\"]",
          "\"a \\u00e4 \\\\\"",
          "null",
          "{}",
          "[]"}) {
        EXPECT_TRUE(is_json(each)) << each;
        EXPECT_EQ(payload_of("{\"payload\":" + each + "}"), each);
        EXPECT_EQ(payload_of(" { \"kind\" : \"a,b\" , \"payload\" : " + each + " \t} "), each);
        EXPECT_EQ(payload_of("{\"payload\": 1, \"pay\\u006coad\":" + each + ",\"x\":[]}"), each)
            << "of several the last";
    }
}

TEST(json_source_test, the_rest_has_null_in_its_place) {
    const auto found = member_of("{\"a\":1, \"payload\" : [1, 2] ,\"b\":2}", "payload");
    ASSERT_TRUE(found);
    EXPECT_EQ(found->without, "{\"a\":1, \"payload\" : null ,\"b\":2}");
    EXPECT_EQ(payload_of("{\"a\":{\"payload\":1}}"), "(none)");
    EXPECT_EQ(payload_of("[{\"payload\":1}]"), "(none)");
    EXPECT_EQ(payload_of("{}"), "(none)");
    EXPECT_EQ(payload_of(""), "(none)");
}

TEST(json_source_test, only_json_is_json) {
    for (const char* each :
         {"",
          "01",
          "1.",
          "1e",
          ".5",
          "+1",
          "--1",
          "0123456789012345678901",
          "1e+-5",
          "{\"a\":}",
          "[1,]",
          "1 2",
          "nul",
          "'a'",
          "\"a",
          "[1}"}) {
        EXPECT_FALSE(is_json(each)) << each;
        EXPECT_FALSE(is_json(std::string{"1"} + '\0' + each)) << each;
    }
}

TEST(json_source_test, what_is_no_object_is_no_json_afterwards_either) {
    for (const std::string each :
         {"{\"payload\":1",
          "{\"payload\":[1}",
          "{\"payload\":\"a}",
          "{\"payload\":1 2}",
          "{\"payload\":1}}",
          "{\"payload\":1,}",
          "{\"payload\":}",
          "{\"payload\"",
          "{\"payload\":"}) {
        const auto found = member_of(each, "payload");
        EXPECT_FALSE(found && is_json(found->text) && is_json(found->without)) << each;
    }
}

}  // namespace
}  // namespace leasehold::cli::testing
