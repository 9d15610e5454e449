// UTF-8 as RFC 3629 has it, at each edge of its table of well-formed byte sequences.
#include "core/utf8.hpp"

#include <gtest/gtest.h>

namespace leasehold {
namespace {

using namespace std::string_literals;

class well_formed : public ::testing::TestWithParam<std::string> {};
TEST_P(well_formed, is_utf8) {
    EXPECT_TRUE(is_utf8(GetParam()));
    EXPECT_TRUE(is_utf8("a" + GetParam() + "z"));
}
INSTANTIATE_TEST_SUITE_P(
    utf8,
    well_formed,
    ::testing::Values(
        ""s,
        "\0"s,
        "\x7f"s,  // one byte
        "\xc2\x80"s,
        "\xdf\xbf"s,  // two: U+0080, U+07FF
        "\xe0\xa0\x80"s,
        "\xe0\xbf\xbf"s,  // three: U+0800 …
        "\xe1\x80\x80"s,
        "\xec\xbf\xbf"s,
        "\xed\x80\x80"s,
        "\xed\x9f\xbf"s,  // … U+D7FF, then past the surrogates
        "\xee\x80\x80"s,
        "\xef\xbf\xbf"s,  // U+E000, U+FFFF
        "\xf0\x90\x80\x80"s,
        "\xf3\xbf\xbf\xbf"s,  // four: U+10000 …
        "\xf4\x80\x80\x80"s,
        "\xf4\x8f\xbf\xbf"s,  // … U+10FFFF
        "\xef\xbb\xbf"s       // a byte-order mark is a character, too
    )
);

class ill_formed : public ::testing::TestWithParam<std::string> {};
TEST_P(ill_formed, is_not_utf8) {
    EXPECT_FALSE(is_utf8(GetParam()));
    EXPECT_FALSE(is_utf8("a" + GetParam()));
    EXPECT_FALSE(is_utf8(GetParam() + "z"));
}
INSTANTIATE_TEST_SUITE_P(
    utf8,
    ill_formed,
    ::testing::Values(
        "\x80"s,
        "\xbf"s,  // continuations without a start
        "\xc3"s,
        "\xe2\x82"s,
        "\xe2"s,
        "\xf0\x9f\x98"s,
        "\xf0"s,  // cut off
        "\xc3\x28"s,
        "\xe2\x28\xa1"s,
        "\xe2\x82\x28"s,
        "\xf0\x28\x8c\xbc"s,
        "\xf0\x90\x28\xbc"s,
        "\xf0\x28\x8c\x28"s,  // a continuation missing inside
        "\xc0\x80"s,
        "\xc1\xbf"s,
        "\xe0\x80\x80"s,
        "\xe0\x9f\xbf"s,
        "\xf0\x80\x80\x80"s,
        "\xf0\x8f\xbf\xbf"s,  // overlong
        "\xed\xa0\x80"s,
        "\xed\xbf\xbf"s,  // surrogates
        "\xf4\x90\x80\x80"s,
        "\xf5\x80\x80\x80"s,
        "\xff"s,
        "\xfe"s,                 // above U+10FFFF
        "\xf8\x88\x80\x80\x80"s  // five bytes
    )
);

TEST(utf8_test, cutting_never_splits_a_character) {
    const std::string text = "a\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80";  // 1, 2, 3 and 4 bytes
    const std::size_t expected[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 10};
    for (std::size_t most = 0; most < std::size(expected); ++most) {
        EXPECT_EQ(cut_utf8(text, most), text.substr(0, expected[most])) << most;
    }
}

TEST(utf8_test, what_people_read_holds_no_control_characters_and_no_broken_bytes) {
    EXPECT_EQ(printable_utf8("a\nb\x7f\x1b[31m\0c"s), "a?b??[31m?c");
    EXPECT_EQ(printable_utf8("\xff\xc3\xa4\xc3"), "?\xc3\xa4?");
    EXPECT_EQ(printable_utf8("\xed\xa0\x80"), "???");
    EXPECT_EQ(printable_utf8("na\xc3\xafve"), "na\xc3\xafve");
}

}  // namespace
}  // namespace leasehold
