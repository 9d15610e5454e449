// leasehold::value: the readings of each type, and those that it refuses.
#include "leasehold/value.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <optional>
#include <type_traits>

#include "core/model_engine.hpp"
#include "leasehold/engine.hpp"
#include "leasehold/error.hpp"
#include "leasehold/versioned_claim.hpp"

namespace leasehold {
namespace {

using namespace std::string_literals;
using namespace std::string_view_literals;

constexpr auto most = std::numeric_limits<std::int64_t>::max();
constexpr auto least = std::numeric_limits<std::int64_t>::min();

std::string refusal_of(const std::function<void()>& read) {
    try {
        read();
    } catch (const error& failure) {
        EXPECT_EQ(failure.code(), errc::database_error);
        return failure.what();
    }
    ADD_FAILURE() << "was read";
    return "";
}

TEST(value_test, each_type_reads_back_as_it_was_given) {
    EXPECT_TRUE(value{}.is_null());
    EXPECT_TRUE(value{nullptr}.is_null());
    EXPECT_FALSE(value{0}.is_null());
    EXPECT_FALSE(value{""}.is_null());
    EXPECT_FALSE(value{blob{}}.is_null());
    EXPECT_EQ(value{7}.integer(), 7);
    EXPECT_EQ(value{most}.integer(), most);
    EXPECT_EQ(value{least}.integer(), least);
    EXPECT_DOUBLE_EQ(value{0.5}.real(), 0.5);
    EXPECT_EQ(value{"a"}.text(), "a");
    EXPECT_EQ(value{"a\0b"s}.text(), "a\0b"s);
    EXPECT_EQ(value{"view"sv}.text(), "view");
    EXPECT_EQ(value{blob{"\0\xff"s}}.bytes(), "\0\xff"s);
}

// Engines disagree on what a truth value is; and a caller may mean a letter or its number.
TEST(value_test, neither_a_truth_value_nor_a_letter_can_be_made_into_one) {
    EXPECT_FALSE((std::is_constructible_v<value, bool>));
    EXPECT_FALSE((std::is_constructible_v<value, char>));
    EXPECT_FALSE((std::is_constructible_v<value, char32_t>));
    EXPECT_FALSE((std::is_constructible_v<value, std::optional<bool>>));
    EXPECT_FALSE((std::is_constructible_v<value, const int*>));
}

TEST(value_test, whole_numbers_of_every_type_are_integers) {
    enum unscoped { seven = 7 };
    const parameters all{
        7,
        7L,
        7LL,
        7U,
        7UL,
        7ULL,
        std::size_t{7},
        std::int8_t{7},
        std::uint8_t{7},
        std::int16_t{7},
        std::uint16_t{7},
        std::uint32_t{7},
        std::ptrdiff_t{7},
        seven};
    for (const value& each : all) EXPECT_EQ(each, value{std::int64_t{7}});
    EXPECT_EQ(value{0U}.integer(), 0);
    EXPECT_EQ(value{0LL}.integer(), 0);
    EXPECT_EQ(value{static_cast<std::uint64_t>(most)}.integer(), most);
}

TEST(value_test, a_number_that_no_column_holds_is_refused_by_its_digits) {
    for (const std::uint64_t each :
         {static_cast<std::uint64_t>(most) + 1, std::numeric_limits<std::uint64_t>::max()}) {
        try {
            const value wrapped{each};
            ADD_FAILURE() << "was taken for " << wrapped.integer();
        } catch (const error& refused) {
            EXPECT_EQ(refused.code(), errc::invalid_argument);
            const std::string words = refused.what();
            EXPECT_NE(words.find(std::to_string(each)), std::string::npos) << words;
            EXPECT_NE(words.find("as text"), std::string::npos) << words;
        }
    }
}

TEST(value_test, what_is_optional_is_null_where_it_is_not_there) {
    EXPECT_TRUE(value{std::nullopt}.is_null());
    EXPECT_TRUE(value{std::optional<int>{}}.is_null());
    EXPECT_TRUE(value{std::optional<std::string>{}}.is_null());
    EXPECT_EQ(value{std::optional<std::size_t>{7}}, value{7});
    EXPECT_EQ(value{std::optional{"a"s}}, value{"a"});
    EXPECT_EQ(value{std::optional{blob{"a"}}}, value{blob{"a"}});
    EXPECT_EQ(value{std::optional{value{0.5}}}, value{0.5});
    const std::optional<std::int64_t> month = 10;
    EXPECT_EQ((parameters{month, std::optional<double>{}}), (parameters{10, nullptr}));
}

TEST(value_test, integers_are_also_read_from_text_that_is_one) {
    EXPECT_EQ(value{"0"}.integer(), 0);
    EXPECT_EQ(value{"-17"}.integer(), -17);
    EXPECT_EQ(value{"9223372036854775807"}.integer(), most);
    EXPECT_EQ(value{"-9223372036854775808"}.integer(), least);
    for (const char* text :
         {"", " 1", "1 ", "+1", "1.0", "1e3", "0x1", "9223372036854775808", "-", "one", "1\n"}) {
        refusal_of([&] { value{text}.integer(); });
    }
}

TEST(value_test, a_null_pointer_is_no_text) {
    const char* const nothing = nullptr;
    try {
        const value made{nothing};
        ADD_FAILURE() << "was taken";
    } catch (const error& failure) {
        EXPECT_EQ(failure.code(), errc::invalid_argument);
    }
}

TEST(value_test, reals_are_also_read_from_integers_and_bytes_from_text) {
    EXPECT_DOUBLE_EQ(value{3}.real(), 3.0);
    EXPECT_DOUBLE_EQ(value{"-1.25"}.real(), -1.25) << "as decimals of PostgreSQL arrive";
    EXPECT_EQ(value{"abc"}.bytes(), "abc");
}

TEST(value_test, a_wrong_type_is_refused_with_both_types_and_what_to_do) {
    EXPECT_NE(refusal_of([] { value{}.integer(); }).find("null"), std::string::npos);
    EXPECT_NE(refusal_of([] { value{0.5}.integer(); }).find("a real number"), std::string::npos);
    EXPECT_NE(refusal_of([] { value{blob{"1"}}.integer(); }).find("bytes"), std::string::npos);
    EXPECT_NE(refusal_of([] { value{1}.text(); }).find("an integer"), std::string::npos);
    EXPECT_NE(refusal_of([] { value{"1.5 m"}.real(); }).find("text"), std::string::npos);
    const auto refusal = refusal_of([] { value{1}.bytes(); });
    EXPECT_NE(refusal.find("bytes was expected"), std::string::npos) << refusal;
    EXPECT_NE(refusal.find("leasehold migrate"), std::string::npos) << refusal;
    refusal_of([] { value{blob{"a"}}.text(); });
    refusal_of([] { value{}.bytes(); });
    refusal_of([] { value{}.text(); });
    refusal_of([] { value{}.real(); });
}

TEST(value_test, values_of_different_types_are_different) {
    EXPECT_EQ(value{1}, value{std::int64_t{1}});
    EXPECT_NE(value{1}, value{"1"});
    EXPECT_NE(value{"1"}, value{blob{"1"}});
    EXPECT_NE(value{}, value{0});
}

TEST(value_test, a_row_reads_by_column_and_knows_its_width) {
    const row found{{1, "two", blob{"three"}, nullptr}};
    EXPECT_EQ(found.integer(0), 1);
    EXPECT_EQ(found.text(1), "two");
    EXPECT_EQ(found.bytes(2), "three");
    EXPECT_TRUE(found.is_null(3));
    const auto beyond = [&] { static_cast<void>(found.at(4)); };
    EXPECT_EQ(refusal_of(beyond), "a row has no column 4: it has 4, counted from 0");
}

TEST(value_test, a_row_reads_by_the_names_of_its_columns) {
    using names = column_names::element_type;
    const auto given = std::make_shared<names>(names{"id", "is_open", "price", "id"});
    const row found{{7, 1, 2.5, 8}, given};
    EXPECT_EQ(found.integer("id"), 7) << "the first of two";
    EXPECT_TRUE(found.boolean(std::string{"is_open"}));
    EXPECT_DOUBLE_EQ(found.real("price"), 2.5);
    const auto unknown = [](const row& of) { return refusal_of([&] { of.text("Id"); }); };
    EXPECT_EQ(unknown(found), "a row has no column 'Id'; its columns are: id, is_open, price, id");
    EXPECT_EQ(unknown(row{{1}}), "a row has no column 'Id': its columns have no names");
}

TEST(value_test, a_row_names_the_column_that_holds_null_or_another_type) {
    using names = column_names::element_type;
    const row found{{nullptr, "two"}, std::make_shared<names>(names{"price", "label"})};
    const std::string null = "column 'price' of a row: a column holds null where an integer was";
    EXPECT_TRUE(refusal_of([&] { found.integer("price"); }).starts_with(null));
    EXPECT_TRUE(refusal_of([&] { found.integer(0); }).starts_with(null)) << "by its place, too";
    const std::string text = "column 'label' of a row: a column holds text where a real number";
    EXPECT_TRUE(refusal_of([&] { found.real("label"); }).starts_with(text));
    const row nameless{{nullptr}};
    EXPECT_TRUE(refusal_of([&] { nameless.text(0); }).starts_with("column 0 of a row: "));
}

TEST(value_test, a_truth_value_is_0_or_1) {
    EXPECT_TRUE(value{1}.boolean());
    EXPECT_FALSE(value{0}.boolean());
    for (const value& each : parameters{2, "1", nullptr, 1.0}) {
        EXPECT_NE(
            refusal_of([&] { each.boolean(); }).find("a truth value, 0 or 1,"), std::string::npos
        );
    }
}

TEST(value_test, engines_have_names) {
    EXPECT_EQ(name_of(engine::postgres), "postgres");
    EXPECT_EQ(name_of(engine::mysql), "mysql");
    EXPECT_EQ(name_of(engine::mariadb), "mariadb");
    EXPECT_EQ(name_of(engine::sqlite), "sqlite");
    EXPECT_EQ(name_of(model_engine), "memory");
}

}  // namespace
}  // namespace leasehold
