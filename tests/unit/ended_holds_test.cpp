// A session remembers what it gave up: which part was looked for, whatever goes meanwhile.
#include "session/ended_holds.hpp"

#include <gtest/gtest.h>

#include <string>

namespace leasehold {
namespace {

using namespace std::chrono_literals;

class ended_holds_test : public ::testing::Test {
protected:
    using names = std::vector<std::string>;

    // Remembers one each second, and forgets it after an hour unless `kept` says otherwise.
    void remember(int first, int last, std::chrono::seconds kept = 1h) {
        for (int each = first; each <= last; ++each) {
            const auto when = start_ + std::chrono::seconds{each};
            list_.remember(
                {key{std::to_string(each)}, owner_id::random(), lock_kind::mutex, 0, when},
                when - kept
            );
        }
    }
    static names names_of(const ended_holds::batch& some) {
        names all;
        for (const ended_hold& each : some.what) all.push_back(each.name.name());
        return all;
    }
    ended_holds::batch next(std::size_t most = 100) const { return list_.next(start_ + 24h, most); }
    names all_that_follow(std::size_t most) {
        names all;
        for (auto some = next(most); !some.what.empty(); some = next(most)) {
            for (const std::string& each : names_of(some)) all.push_back(each);
            list_.looked_for(some);
        }
        return all;
    }

    const local_clock::time_point start_ = local_clock::now();
    ended_holds list_;
};

TEST_F(ended_holds_test, each_is_looked_for_once_in_the_order_of_giving_up) {
    remember(1, 5);
    EXPECT_EQ(all_that_follow(2), (names{"1", "2", "3", "4", "5"}));
    EXPECT_EQ(all_that_follow(2), names{});
    remember(6, 7);
    EXPECT_EQ(all_that_follow(2), (names{"6", "7"}));
    list_.look_from_start();
    EXPECT_EQ(all_that_follow(3), (names{"1", "2", "3", "4", "5", "6", "7"}));
}

TEST_F(ended_holds_test, what_was_not_looked_for_is_there_again) {
    remember(1, 3);
    EXPECT_EQ(names_of(next(2)), (names{"1", "2"}));
    EXPECT_EQ(names_of(next(2)), (names{"1", "2"}));
}

TEST_F(ended_holds_test, what_is_too_young_waits_and_keeps_nothing_else_from_being_looked_for) {
    remember(1, 3);
    const auto found = list_.next(start_ + 3s, 100);
    EXPECT_EQ(names_of(found), (names{"1", "2"}));
    list_.looked_for(found);
    EXPECT_EQ(names_of(next()), (names{"3"}));
}

TEST_F(ended_holds_test, nothing_is_passed_over_when_old_ones_go_while_somebody_looks) {
    remember(1, 10);
    const auto found = next(6);
    remember(11, 11, 6s);  // 1 to 4 go
    list_.looked_for(found);
    EXPECT_EQ(names_of(next()), (names{"7", "8", "9", "10", "11"}));
    remember(40, 40, 1s);  // all others go, also those that come next
    EXPECT_EQ(names_of(next()), (names{"40"}));
}

TEST_F(ended_holds_test, there_is_an_end_to_what_is_remembered) {
    const int count = static_cast<int>(ended_holds::max_remembered);
    remember(1, count + 2, 24h * 365);
    EXPECT_EQ(list_.all().size(), ended_holds::max_remembered);
    EXPECT_EQ(names_of(list_.next(start_ + 24h * 365, 1)), (names{"3"}));
}

}  // namespace
}  // namespace leasehold
