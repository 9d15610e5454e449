// One stop token for two reasons to stop.
#include <gtest/gtest.h>

#include <memory>

#include "leasehold/stop.hpp"

namespace leasehold {
namespace {

TEST(either_stop, is_requested_with_the_first_of_both) {
    for (const bool is_first : {true, false}) {
        std::stop_source one, other;
        const either_stop both{one.get_token(), other.get_token()};
        int told = 0;
        const std::stop_callback count{both.token(), [&] { ++told; }};
        EXPECT_FALSE(both.token().stop_requested());
        (is_first ? one : other).request_stop();
        EXPECT_TRUE(both.token().stop_requested());
        (is_first ? other : one).request_stop();
        EXPECT_EQ(told, 1);
    }
}

TEST(either_stop, is_requested_at_once_where_one_of_them_was) {
    std::stop_source one, other;
    other.request_stop();
    const either_stop later{one.get_token(), other.get_token()};
    const either_stop first{other.get_token(), one.get_token()};
    const either_stop neither{one.get_token(), {}};
    EXPECT_TRUE(later.token().stop_requested());
    EXPECT_TRUE(first.token().stop_requested());
    EXPECT_FALSE(neither.token().stop_requested());
}

TEST(either_stop, may_be_destroyed_by_who_is_told) {
    std::stop_source one, other;
    auto both = std::make_unique<either_stop>(one.get_token(), other.get_token());
    const auto token = both->token();
    const std::stop_callback end{token, [&] { both.reset(); }};
    one.request_stop();
    EXPECT_FALSE(both);
    EXPECT_TRUE(token.stop_requested());
}

}  // namespace
}  // namespace leasehold
