#include "cli/show/json_source.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace leasehold::cli {
namespace {

using nlohmann::json;

constexpr std::string_view white_space = " \t\r\n";
constexpr std::string_view digits = "0123456789";

std::size_t next_in(std::string_view text, std::size_t at) {
    return std::min(text.find_first_not_of(white_space, at), text.size());
}

// The position behind the string that begins here.
std::size_t end_of_string(std::string_view text, std::size_t at) {
    for (++at; at < text.size() && text[at] != '"'; ++at) {
        if (text[at] == '\\') ++at;
    }
    return std::min(at + 1, text.size());
}

// The position behind the value that begins here.
std::size_t end_of_value(std::string_view text, std::size_t at) {
    std::size_t end = at;
    for (int depth = 0; at < text.size();) {
        const char each = text[at];
        if (depth == 0 && (each == ',' || each == '}' || each == ']')) break;
        if (each == '{' || each == '[') ++depth;
        if (each == '}' || each == ']') --depth;
        at = each == '"' ? end_of_string(text, at) : at + 1;
        if (white_space.find(each) == std::string_view::npos) end = at;
    }
    return end;
}

bool is_name(std::string_view quoted, std::string_view name) {
    const json read = json::parse(quoted, nullptr, false);
    return read.is_string() && read.get<std::string>() == name;
}

// The text with small numbers in the place of all numbers, since it is JSON whatever their size.
std::string with_small_numbers(std::string_view text) {
    constexpr std::size_t max_kept = 15, kept_of_exponent = 2;
    std::string small;
    for (std::size_t at = 0; at < text.size();) {
        if (text[at] == '"') {
            const auto end = end_of_string(text, at);
            small += text.substr(at, end - at);
            at = end;
            continue;
        }
        const auto end = std::min(text.find_first_not_of(digits, at), text.size());
        if (end == at) {
            small += text[at++];
            continue;
        }
        const auto before = small.find_last_not_of("+-");
        const bool is_exponent =
            before != std::string::npos && (small[before] == 'e' || small[before] == 'E');
        small += text.substr(at, std::min(end - at, is_exponent ? kept_of_exponent : max_kept));
        at = end;
    }
    return small;
}

}  // namespace

std::optional<member_source> member_of(std::string_view object, std::string_view name) {
    std::optional<member_source> found;
    std::size_t at = next_in(object, 0);
    if (at == object.size() || object[at] != '{') return found;
    do {
        const auto key = next_in(object, at + 1);
        if (key == object.size() || object[key] != '"') return found;
        const auto key_end = end_of_string(object, key);
        const auto colon = next_in(object, key_end);
        if (colon == object.size() || object[colon] != ':') return found;
        const auto begin = next_in(object, colon + 1);
        const auto end = end_of_value(object, begin);
        if (is_name(object.substr(key, key_end - key), name)) {
            found = {
                std::string{object.substr(begin, end - begin)},
                std::string{object.substr(0, begin)} + "null" + std::string{object.substr(end)}};
        }
        at = next_in(object, end);
    } while (at < object.size() && object[at] == ',');
    return found;
}

int depth_of(std::string_view text) {
    int depth = 0, deepest = 0;
    for (std::size_t at = 0; at < text.size();) {
        const char each = text[at];
        if (each == '[' || each == '{') deepest = std::max(deepest, ++depth);
        if (each == ']' || each == '}') --depth;
        at = each == '"' ? end_of_string(text, at) : at + 1;
    }
    return deepest;
}

bool is_json(std::string_view text) {
    // The parser takes a zero byte for the end of the text.
    return text.find('\0') == std::string_view::npos && json::accept(with_small_numbers(text));
}

}  // namespace leasehold::cli
