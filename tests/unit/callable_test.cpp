// callable: what it takes, what it shares, and when it is empty.
#include "leasehold/callable.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <type_traits>

#include "leasehold/error.hpp"

namespace leasehold {
namespace {

int doubled(int number) {
    return 2 * number;
}

TEST(callable_test, a_lambda_a_function_and_an_object_are_called) {
    struct adder {
        int more;
        int operator()(int number) const { return number + more; }
    };
    using numbers = callable<int(int)>;
    for (const numbers& each :
         {numbers{[](int number) { return number + 2; }},
          numbers{doubled},
          numbers{&doubled},
          numbers{adder{2}}}) {
        ASSERT_TRUE(each);
        EXPECT_EQ(each(2), 4);
    }
}

TEST(callable_test, a_result_that_nobody_would_look_at_is_refused) {
    static_assert(!std::is_constructible_v<callable<void(int)>, decltype(&doubled)>);
    static_assert(!std::is_constructible_v<callable<void()>, callable<int()>>);
    static_assert(std::is_constructible_v<callable<void()>, callable<void()>>);
    static_assert(std::is_constructible_v<callable<long(int)>, decltype(&doubled)>);
}

TEST(callable_test, one_that_can_only_be_moved_is_taken_and_shared_by_copies) {
    const callable<int()> counts = [count = std::make_unique<int>(0)] { return ++*count; };
    const callable<int()> copy = counts;
    EXPECT_EQ(counts(), 1);
    EXPECT_EQ(copy(), 2);
    const callable<std::string(std::unique_ptr<int>, const std::string&)> passes =
        [](std::unique_ptr<int> number, const std::string& text) {
            return text + std::to_string(*number);
        };
    EXPECT_EQ(passes(std::make_unique<int>(1), "x"), "x1");
}

TEST(callable_test, what_is_empty_makes_an_empty_one_which_says_so_when_it_is_called) {
    using action = callable<void()>;
    void (*const no_function)() = nullptr;
    for (const action& each :
         {action{},
          action{nullptr},
          action{no_function},
          action{std::function<void()>{}},
          action{callable<void()>{}}}) {
        EXPECT_FALSE(each);
        try {
            each();
            ADD_FAILURE() << "was called";
        } catch (const error& failure) {
            EXPECT_EQ(failure.code(), errc::invalid_argument);
            EXPECT_STREQ(failure.what(), "a function to call is empty");
        }
    }
}

// An object of the program's may convert to bool for reasons of its own: it is called all the same.
TEST(callable_test, an_object_that_converts_to_false_is_no_empty_function) {
    struct switched {
        explicit operator bool() const { return false; }
        int operator()() const { return 7; }
    };
    const callable<int()> held = switched{};
    ASSERT_TRUE(held);
    EXPECT_FALSE(held == nullptr);
    EXPECT_EQ(held(), 7);
    struct counted {
        int value = 0;
        int get() const { return value; }
    };
    EXPECT_FALSE((std::is_constructible_v<callable<int(const counted&)>, decltype(&counted::get)>));
}

TEST(callable_test, a_function_keeps_its_state_between_calls) {
    const callable<int()> counts = [count = 0]() mutable { return ++count; };
    EXPECT_EQ(counts(), 1);
    EXPECT_EQ(counts(), 2);
}

}  // namespace
}  // namespace leasehold
