#pragma once
// A list of names in settings takes them in braces, `{"mail", "sms"}`, or as a vector. A plain
// vector of strings would read `{{"mail", "sms"}}` as one name between two pointers.
//
// Threads: plain values.
#include <concepts>
#include <string>
#include <utility>
#include <vector>

#include "leasehold/export.hpp"  // it asks for C++20

namespace leasehold {

struct string_list : std::vector<std::string> {
    string_list() = default;
    string_list(std::vector<std::string> names) : vector(std::move(names)) {}
    template <std::convertible_to<std::string>... Name>
    string_list(Name&&... names) : vector{std::string(std::forward<Name>(names))...} {}
};

}  // namespace leasehold
