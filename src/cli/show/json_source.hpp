#pragma once
// The source text of one member of a JSON object, for callers that pass it on as it was written. A
// parser's copy has other numbers, another order and fewer members.
#include <optional>
#include <string>
#include <string_view>

namespace leasehold::cli {

struct member_source {
    std::string text;     // of the value
    std::string without;  // the object with null in its place
};

// The last member of that name; nullopt if the object has none. Both texts are JSON if, and only
// if, `object` was.
std::optional<member_source> member_of(std::string_view object, std::string_view name);

// The depth of brackets within each other. A parser recurses once for each.
int depth_of(std::string_view text);

// True when this is one JSON value, whatever the size of its numbers.
bool is_json(std::string_view text);

}  // namespace leasehold::cli
