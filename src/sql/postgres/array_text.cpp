#include "sql/postgres/array_text.hpp"

#include <array>
#include <charconv>
#include <variant>

#include "core/hexadecimal.hpp"

namespace leasehold::postgres_dialect {
namespace {

// Always quoted, so that an element NULL is text; a backslash stands before a quote or a backslash.
void add_quoted(const std::string& element, std::string& text) {
    text += '"';
    for (const char each : element) {
        if (each == '"' || each == '\\') text += '\\';
        text += each;
    }
    text += '"';
}

}  // namespace

void add_to_array(const value& element, std::string& text) {
    if (!text.empty()) text += ',';
    if (const auto* number = std::get_if<std::int64_t>(&element.held())) {
        text += std::to_string(*number);
    } else if (const auto* real = std::get_if<double>(&element.held())) {
        std::array<char, 32> written{};
        char* const begin = written.data();
        text.append(begin, std::to_chars(begin, begin + written.size(), *real).ptr);
    } else if (const auto* bytes = std::get_if<blob>(&element.held())) {
        text += "\"\\\\x" + in_hexadecimal(bytes->bytes) + '"';
    } else {
        add_quoted(element.text(), text);
    }
}

}  // namespace leasehold::postgres_dialect
