#include "core/numbered_parameters.hpp"

#include <algorithm>
#include <string>

#include "core/number_in.hpp"
#include "leasehold/error.hpp"

namespace leasehold {
namespace {

constexpr std::size_t max_number = 65535;  // of PostgreSQL's protocol

bool is_digit(char each) {
    return each >= '0' && each <= '9';
}

bool is_space(char each) {
    return each == ' ' || (each >= '\t' && each <= '\r');
}

// True in names, words and numbers; `@` because MySQL has variables that are called @$1.
bool is_of_word(char each) {
    const bool is_letter = (each >= 'a' && each <= 'z') || (each >= 'A' && each <= 'Z');
    return is_letter || is_digit(each) || each == '_' || each == '$' || each == '@' ||
           static_cast<unsigned char>(each) >= 0x80;
}

bool is_mysql(engine which) {
    return which == engine::mysql || which == engine::mariadb;
}

std::size_t end_of(std::string_view closing, std::string_view sql, std::size_t from) {
    const auto found = sql.find(closing, from);
    return found == std::string_view::npos ? sql.size() : found + closing.size();
}

// The second half of a doubled quote counts as the start of the next string.
std::size_t end_of_string(std::string_view sql, std::size_t at, bool has_escapes) {
    const char quote = sql[at];
    for (++at; at < sql.size(); ++at) {
        if (sql[at] == '\\' && has_escapes) {
            ++at;
        } else if (sql[at] == quote) {
            return at + 1;
        }
    }
    return sql.size();
}

// PostgreSQL's E'it\'s'. Elsewhere sql_mode NO_BACKSLASH_ESCAPES, off in our own sessions, would
// read a string of MySQL otherwise.
bool has_escapes(std::string_view sql, std::size_t at, engine which) {
    if (is_mysql(which)) return sql[at] != '`';
    if (which != engine::postgres || sql[at] != '\'' || at == 0) return false;
    const bool is_prefixed = sql[at - 1] == 'e' || sql[at - 1] == 'E';
    return is_prefixed && (at == 1 || !is_of_word(sql[at - 2]));
}

// Nested on PostgreSQL alone.
std::size_t end_of_comment(std::string_view sql, std::size_t at, engine which) {
    if (which != engine::postgres) return end_of("*/", sql, at + 2);
    int depth = 0;
    while (at < sql.size()) {
        const std::string_view two = sql.substr(at, 2);
        if (two == "/*") ++depth;
        if (two == "*/") --depth;
        at += two == "/*" || two == "*/" ? 2 : 1;
        if (depth == 0) return at;
    }
    return sql.size();
}

// PostgreSQL's $$…$$ and $tag$…$tag$. A tag is a name, so that $1 begins none.
std::size_t end_of_dollar_quoted(std::string_view sql, std::size_t at) {
    std::size_t tag_end = at + 1;
    while (tag_end < sql.size() && sql[tag_end] != '$' && is_of_word(sql[tag_end])) ++tag_end;
    const bool is_tag = tag_end < sql.size() && sql[tag_end] == '$' && !is_digit(sql[at + 1]);
    if (!is_tag) return at;
    return end_of(sql.substr(at, tag_end + 1 - at), sql, tag_end + 1);
}

[[noreturn]] void refuse(const std::string& why) {
    throw error(errc::invalid_argument, why);
}

std::size_t number_of(std::string_view written) {
    const auto number = number_in<std::size_t>(written);
    if (number && *number >= 1 && *number <= max_number) return *number;
    refuse("a parameter's number in a statement is 1 to " + std::to_string(max_number));
}

// The text of `$1` alone: a further character that a name may have makes it a name.
std::string_view numbered_at(std::string_view sql, std::size_t at) {
    if (sql[at] != '$') return {};
    std::size_t end = at + 1;
    while (end < sql.size() && is_digit(sql[end])) ++end;
    const bool is_number = end > at + 1 && (end == sql.size() || !is_of_word(sql[end]));
    return is_number ? sql.substr(at, end - at) : std::string_view{};
}

}  // namespace

std::size_t end_of_quoted(std::string_view sql, std::size_t at, engine which) {
    switch (sql[at]) {
        case '\'':
        case '"':
            return end_of_string(sql, at, has_escapes(sql, at, which));
        case '`':
            return which == engine::postgres ? at : end_of_string(sql, at, false);
        case '[':
            return which == engine::sqlite ? end_of("]", sql, at) : at;
        case '#':
            return is_mysql(which) ? end_of("\n", sql, at) : at;
        case '/':
            return sql.substr(at, 2) == "/*" ? end_of_comment(sql, at, which) : at;
        case '-': {
            if (sql.substr(at, 2) != "--") return at;
            // On MySQL and MariaDB only before a space, unlike in standard SQL.
            const bool is_comment =
                !is_mysql(which) || at + 2 == sql.size() || is_space(sql[at + 2]);
            return is_comment ? end_of("\n", sql, at) : at;
        }
        case '$':
            return which == engine::postgres ? end_of_dollar_quoted(sql, at) : at;
        default:
            return at;
    }
}

std::size_t end_of_word(std::string_view sql, std::size_t at) noexcept {
    while (at < sql.size() && is_of_word(sql[at])) ++at;
    return at;
}

std::vector<place> places_in(std::string_view sql, engine which) {
    std::vector<place> found;
    std::size_t marks = 0;
    for (std::size_t at = 0; at < sql.size();) {
        if (const std::size_t end = end_of_quoted(sql, at, which); end != at) {
            at = end;
        } else if (const std::string_view text = numbered_at(sql, at); !text.empty()) {
            found.push_back({at, text.size(), number_of(text.substr(1))});
            at += text.size();
        } else if (sql[at] == '?' && which != engine::postgres) {
            found.push_back({at, 1, ++marks});
            ++at;
        } else {
            at = std::max(at + 1, end_of_word(sql, at));
        }
    }
    if (marks != 0 && marks != found.size()) {
        refuse("a statement has both ? and $1 for its parameters; use $1 alone");
    }
    return found;
}

std::size_t values_wanted(const std::vector<place>& places) noexcept {
    std::size_t highest = 0;
    for (const place& each : places) highest = std::max(highest, each.number);
    return highest;
}

}  // namespace leasehold
