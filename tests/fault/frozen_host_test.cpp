// A URL whose first host is frozen: all processes of that server stand still, and its kernel takes
// each connection. The hosts behind it are there, and are asked at the first attempt.
#include <gtest/gtest.h>

#include "fault/server_control.hpp"
#include "leasehold/driver/mysql.hpp"
#include "support/required.hpp"

namespace leasehold::testing {
namespace {

// One kind of server stands in for a second one of the other kind.
class frozen_host : public ::testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(frozen_host, leaves_time_for_those_behind_it) {
    const auto& [frozen, well] = GetParam();
    const std::string behind = require_url(well), first = require_url(frozen);
    const auto place = first.find('@') + 1, host = behind.find('@') + 1;
    const std::string url = behind.substr(0, host) +
                            first.substr(place, first.find('/', place) - place) + "," +
                            behind.substr(host);
    const auto ends_with = [&](std::int64_t port) {
        return behind.find(":" + std::to_string(port) + "/") != std::string::npos;
    };
    server_control control{frozen};
    control.pause();
    const database db = mysql::open(url);
    EXPECT_TRUE(ends_with(db.execute("SELECT @@port").rows.at(0).integer(0)));
}

INSTANTIATE_TEST_SUITE_P(
    each,
    frozen_host,
    ::testing::Values(std::pair{"mariadb", "mysql"}, std::pair{"mysql", "mariadb"}),
    [](const auto& each) { return std::string{each.param.first}; }
);

}  // namespace
}  // namespace leasehold::testing
