#include "sql/sql_text.hpp"

#include <algorithm>

#include "leasehold/error.hpp"

namespace leasehold {
namespace {

bool is_plain_name(std::string_view name) {
    constexpr std::size_t max_bytes = 30;
    const auto is_letter = [](char each) {
        return (each >= 'a' && each <= 'z') || (each >= 'A' && each <= 'Z') || each == '_';
    };
    const auto is_digit = [](char each) { return each >= '0' && each <= '9'; };
    return !name.empty() && name.size() <= max_bytes && is_letter(name[0]) &&
           std::ranges::all_of(name, [&](char each) { return is_letter(each) || is_digit(each); });
}

}  // namespace

void require_valid(const table_names& names) {
    if (!is_plain_name(names.prefix)) {
        throw error(
            errc::invalid_argument,
            "the table prefix must be 1 to 30 letters, digits or underscores, not a digit first"
        );
    }
    if (!names.schema.empty() && !is_plain_name(names.schema)) {
        throw error(
            errc::invalid_argument,
            "the schema must be 1 to 30 letters, digits or underscores, not a digit first"
        );
    }
}

std::string replaced(std::string_view text, std::string_view placeholder, std::string_view by) {
    std::string changed{text};
    for (auto at = changed.find(placeholder); at != std::string::npos;
         at = changed.find(placeholder, at + by.size())) {
        changed.replace(at, placeholder.size(), by);
    }
    return changed;
}

std::string end_of_prefix(std::string_view prefix) {
    constexpr char beyond_all = '\xff';
    std::string end{prefix};
    while (!end.empty() && end.back() == beyond_all) end.pop_back();
    if (end.empty()) return {beyond_all};
    end.back() = static_cast<char>(static_cast<unsigned char>(end.back()) + 1);
    return end;
}

std::string first_of_page(std::string_view prefix, std::string_view after) {
    if (after < prefix || after.empty()) return std::string{prefix};
    return std::string{after} + '\0';
}

std::string fill_in(std::string_view text, const table_names& names) {
    require_valid(names);
    // Schemas are quoted so that theirs is the case the user wrote; prefixes fold like any name.
    const std::string qualified =
        names.schema.empty() ? names.prefix : '"' + names.schema + "\"." + names.prefix;
    return replaced(replaced(text, "{prefix}", qualified), "{bare}", names.prefix);
}

std::vector<std::string> split_statements(std::string_view script) {
    std::vector<std::string> statements;
    std::string current;
    bool has_sql = false;
    while (!script.empty()) {
        const auto end = script.find('\n');
        std::string_view line = script.substr(0, end);
        script.remove_prefix(end == std::string_view::npos ? script.size() : end + 1);
        current.append(line).append("\n");
        const auto first = line.find_first_not_of(" \t\r");
        const bool is_comment = first != std::string_view::npos && line.substr(first, 2) == "--";
        const bool is_blank = line.find_first_not_of(" \t\r;") == std::string_view::npos;
        if (!is_blank && !is_comment) has_sql = true;
        if (!is_comment && line.ends_with(';')) {
            current.resize(current.size() - 2);  // the engine's own prepare wants none
            if (has_sql) statements.push_back(current);
            current.clear();
            has_sql = false;
        }
    }
    if (has_sql) statements.push_back(current);
    return statements;
}

std::string quoted_identifier(std::string_view name, char quote) {
    std::string text{quote};
    for (const char each : name) {
        text += each;
        if (each == quote) text += each;
    }
    return text += quote;
}

}  // namespace leasehold
