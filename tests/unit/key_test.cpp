// leasehold::key: the permitted names, and the equality of keys.
#include "leasehold/key.hpp"

#include <gtest/gtest.h>

#include <set>
#include <sstream>

#include "leasehold/error.hpp"
#include "leasehold/multi_lock.hpp"

namespace leasehold {
namespace {

using namespace std::string_literals;

std::string refusal_of(const std::string& name) {
    try {
        key{name};
    } catch (const error& failure) {
        EXPECT_EQ(failure.code(), errc::invalid_argument);
        return failure.what();
    }
    return "";
}

TEST(key_test, lengths_from_1_to_255_bytes_are_taken) {
    EXPECT_EQ(key{"x"}.name(), "x");
    const std::string longest(255, 'x');
    EXPECT_EQ(key{longest}.name(), longest);
}

TEST(key_test, an_empty_key_is_refused) {
    EXPECT_NE(refusal_of("").find("empty"), std::string::npos);
    const char* const nothing = nullptr;
    EXPECT_THROW(key{nothing}, error) << "a null pointer is no name";
}

TEST(key_test, a_key_of_256_bytes_is_refused_with_its_length) {
    const auto refusal = refusal_of(std::string(256, 'x'));
    EXPECT_NE(refusal.find("256 bytes"), std::string::npos) << refusal;
    EXPECT_NE(refusal.find("255"), std::string::npos) << refusal;
}

// 128 letters, 256 bytes: the limit is of bytes, which is what a database's index has room for.
TEST(key_test, the_limit_counts_bytes_and_not_characters) {
    std::string umlauts;
    for (int each = 0; each < 127; ++each) umlauts += "\xc3\xa4";
    EXPECT_EQ(refusal_of(umlauts + "x"), "");
    EXPECT_NE(refusal_of(umlauts + "\xc3\xa4"), "");
}

TEST(key_test, a_nul_byte_is_refused_wherever_it_stands) {
    for (const auto& name : {"\0"s, "\0x"s, "x\0"s, "x\0x"s}) {
        EXPECT_NE(refusal_of(name).find("NUL"), std::string::npos);
    }
}

TEST(key_test, what_is_not_utf8_is_refused) {
    for (const auto& name : {"\x80"s, "a\xff"s, "\xc0\x80"s, "\xed\xa0\x80"s, "\xc3"s}) {
        EXPECT_NE(refusal_of(name).find("UTF-8"), std::string::npos);
    }
}

TEST(key_test, control_characters_and_quotes_are_only_bytes) {
    for (const auto& name : {"\n"s, "\t"s, "\x7f"s, "'; DROP TABLE x; --"s, "%_\\"s, " "s}) {
        EXPECT_EQ(refusal_of(name), "");
    }
}

// On PostgreSQL and the others alike, whatever their collation thinks.
TEST(key_test, keys_are_the_same_only_byte_by_byte) {
    const std::set<key> keys{
        "Job",
        "JOB",
        "job",
        "Job ",
        " Job",
        "Jo\xcc\x88"
        "b",
        "J\xc3\xb6"
        "b",
        "job\t",
    };
    EXPECT_EQ(keys.size(), 8u);
    EXPECT_EQ(key{"Job"}, key{"Job"s});
    EXPECT_LT(key{"z"}, key{"\xc3\xa4"}) << "bytes are unsigned";
}

TEST(key_test, a_key_is_printed_as_its_name) {
    std::ostringstream out;
    out << key{"invoices/closing"} << ' ' << key{"a b"};
    EXPECT_EQ(out.str(), "invoices/closing a b");
    EXPECT_EQ(::testing::PrintToString(key{"invoices/closing"}), "invoices/closing");
}

}  // namespace
}  // namespace leasehold
