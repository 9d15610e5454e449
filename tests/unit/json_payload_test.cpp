// Payloads by the conversions of nlohmann::json.
#include "leasehold/json_payload.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace letters {
namespace {

struct letter {
    std::string to{};
    std::vector<int> pages{};
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(letter, to, pages)

}  // namespace
}  // namespace letters

namespace leasehold {
namespace {

using letters::letter;

TEST(json_payload_test, a_value_comes_back_from_its_text) {
    const new_job job = job_of("send", letter{"\"you\" & \u00fc", {1, 2}}, {.unique_key = "once"});
    EXPECT_EQ(job.kind, "send");
    EXPECT_EQ(job.unique_key, "once");
    EXPECT_EQ(
        nlohmann::json::parse(job.payload),
        (nlohmann::json{{"to", "\"you\" & \u00fc"}, {"pages", {1, 2}}})
    );
    const auto read = payload_of<letter>(job.payload);
    EXPECT_EQ(read.to, "\"you\" & \u00fc");
    EXPECT_EQ(read.pages, (std::vector{1, 2}));
    using numbers = std::map<std::string, double>;
    EXPECT_EQ(payload_of<numbers>(text_of_payload(numbers{{"pi", 3.5}})), (numbers{{"pi", 3.5}}));
}

TEST(json_payload_test, text_of_another_form_is_refused) {
    for (const char* text : {"", "{", "[]", R"({"to": "you"})", R"({"to": 1, "pages": []})"}) {
        EXPECT_THROW(payload_of<letter>(text), nlohmann::json::exception) << text;
    }
}

TEST(json_payload_test, text_that_is_no_utf8_is_not_written) {
    EXPECT_THROW(text_of_payload(letter{"\xff", {}}), nlohmann::json::exception);
}

}  // namespace
}  // namespace leasehold
