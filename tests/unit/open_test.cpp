// leasehold::open: which driver a URL means, and what is said of those that mean none.
#include "leasehold/open.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "leasehold/error.hpp"

namespace leasehold {
namespace {

std::string refusal_of(std::string_view url, errc expected) {
    try {
        static_cast<void>(open(url));
    } catch (const error& refused) {
        EXPECT_EQ(refused.code(), expected) << refused.what();
        return refused.what();
    }
    ADD_FAILURE() << "not refused: " << url;
    return "";
}

TEST(open_test, the_scheme_says_which_driver) {
    EXPECT_EQ(driver_of("sqlite:/var/lib/app.db"), "sqlite");
    EXPECT_EQ(driver_of("postgresql://app@db/app"), "postgres");
    EXPECT_EQ(driver_of("postgres://app@db/app"), "postgres");
    EXPECT_EQ(driver_of("host=db dbname=app"), "postgres");
    EXPECT_EQ(driver_of("mysql://app@db/app"), "mysql");
    EXPECT_EQ(driver_of("mariadb://app@db/app"), "mysql");
}

TEST(open_test, what_is_no_scheme_of_ours_is_refused_without_a_word_of_the_password) {
    for (const std::string_view url :
         {"oracle://app:secret@db/app", "app:secret@db/app", "=secret", "pass word=secret", ""}) {
        const std::string words = refusal_of(url, errc::invalid_argument);
        EXPECT_EQ(words.find("secret"), std::string::npos) << words;
        EXPECT_NE(words.find("sqlite:PATH"), std::string::npos) << words;
    }
}

// std::getenv() answers so for a variable that is not set.
TEST(open_test, a_null_pointer_is_no_url) {
    const char* const none = nullptr;
    try {
        static_cast<void>(open(none));
        ADD_FAILURE() << "not refused";
    } catch (const error& refused) {
        EXPECT_EQ(refused.code(), errc::invalid_argument);
    }
}

// Opening connects to nothing, so this needs no server.
TEST(open_test, a_driver_is_there_or_its_switch_is_named) {
    const struct {
        std::string_view driver;
        std::string_view url;
        std::string_view option;
    } all[] = {
        {"sqlite", "sqlite:/nowhere/app.db", "LEASEHOLD_SQLITE=ON"},
        {"postgres", "postgres://app:secret@127.0.0.1/app", "LEASEHOLD_POSTGRES=ON"},
        {"mysql", "mariadb://app:secret@127.0.0.1/app", "LEASEHOLD_MYSQL=ON"},
    };
    const auto built_in = drivers_built_in();
    for (const auto& each : all) {
        if (std::count(built_in.begin(), built_in.end(), each.driver) == 1) {
            EXPECT_EQ(open(each.url, {.max_connections = 3}).settings().max_connections, 3);
            continue;
        }
        const std::string words = refusal_of(each.url, errc::unsupported);
        EXPECT_NE(words.find(each.option), std::string::npos) << words;
        EXPECT_EQ(words.find("secret"), std::string::npos) << words;
    }
}

}  // namespace
}  // namespace leasehold
