// leasehold::identity: 128 bits that only compare, and the text about a process for people.
#include "leasehold/identity.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <sstream>
#include <unordered_set>

#include "core/utf8.hpp"
#include "leasehold/error.hpp"
#include "leasehold/quorum_lock.hpp"

namespace leasehold {
namespace {

using namespace std::string_literals;

TEST(identity_test, text_and_bytes_lead_back_to_the_same_identity) {
    const auto made = identity::random();
    EXPECT_EQ(identity::from_text(made.text()), made);
    EXPECT_EQ(identity::from_bytes(made.bytes()), made);
    EXPECT_EQ(made.text().size(), 32u);
    EXPECT_EQ(made.bytes().size(), 16u);
}

TEST(identity_test, the_text_is_lower_case_hexadecimal_of_the_bytes_in_order) {
    const auto made = identity::from_bytes(
        "\x00\x01\x7f\x80\xff\xab\xcd\xef"
        "01234567"s
    );
    EXPECT_EQ(made.text(), "00017f80ffabcdef3031323334353637");
}

class bad_text : public ::testing::TestWithParam<std::string> {};
TEST_P(bad_text, is_refused) {
    try {
        identity::from_text(GetParam());
        FAIL() << "was accepted";
    } catch (const error& failure) {
        EXPECT_EQ(failure.code(), errc::invalid_argument);
    }
}
INSTANTIATE_TEST_SUITE_P(
    identity,
    bad_text,
    ::testing::Values(
        ""s,
        "0"s,
        std::string(31, '0'),
        std::string(33, '0'),
        std::string(34, '0'),
        std::string(64, '0'),
        std::string(32, 'g'),
        std::string(32, 'A'),
        std::string(31, '0') + "g",
        " " + std::string(31, '0'),
        std::string(31, '0') + " ",
        std::string(30, '0') + "0x",
        std::string(31, '0') + '\0',
        "01234567-89ab-cdef-0123-456789abcdef"s
    )
);

TEST(identity_test, bytes_of_any_other_length_are_refused) {
    for (const std::size_t size : {0u, 1u, 15u, 17u, 32u}) {
        EXPECT_THROW(identity::from_bytes(std::string(size, 'x')), error) << size;
    }
}

TEST(identity_test, a_hundred_thousand_random_ones_are_all_different) {
    std::unordered_set<std::string> seen;
    for (int each = 0; each < 100'000; ++each) seen.insert(identity::random().bytes());
    EXPECT_EQ(seen.size(), 100'000u);
}

// Each of the 128 bits is sometimes 1 and sometimes 0: none is lost on the way.
TEST(identity_test, every_bit_is_random) {
    int ones[128] = {};
    for (int each = 0; each < 1000; ++each) {
        const auto bytes = identity::random().bytes();
        for (std::size_t bit = 0; bit < 128; ++bit) {
            ones[bit] += (bytes[bit / 8] >> (bit % 8)) & 1;
        }
    }
    for (const int count : ones) {
        EXPECT_GT(count, 300);  // twelve standard deviations away
        EXPECT_LT(count, 700);
    }
}

TEST(identity_test, node_info_names_program_host_and_process) {
    const auto info = node_info_of_this_process("billing-7");
    EXPECT_TRUE(info.starts_with("billing-7@")) << info;
    EXPECT_TRUE(info.ends_with(":" + std::to_string(getpid()))) << info;
}

TEST(identity_test, node_info_is_short_printable_utf8_whatever_the_name) {
    std::string umlauts;
    for (int each = 0; each < 300; ++each) umlauts += "\xc3\xa4";
    for (const auto& name : {""s, "a\nb\xff"s, std::string(1000, 'x'), "y" + umlauts}) {
        const auto info = node_info_of_this_process(name);
        EXPECT_LE(info.size(), 255u);
        EXPECT_LE(info.find('@'), 100u);
        EXPECT_TRUE(is_utf8(info));
        EXPECT_EQ(info.find('\n'), std::string::npos);
    }
}

TEST(identity_test, tokens_and_identities_are_printed_for_people) {
    const owner_id owner = owner_id::random();
    std::ostringstream out;
    out << fencing_token{42} << ' ' << owner;
    EXPECT_EQ(out.str(), "42 " + owner.text());
    EXPECT_EQ(to_string(fencing_token{-7}), "-7");
    EXPECT_EQ(::testing::PrintToString(fencing_token{42}), "42");
}

}  // namespace
}  // namespace leasehold
