#include "core/statement_words.hpp"

#include <algorithm>

#include "core/numbered_parameters.hpp"
#include "leasehold/error.hpp"

namespace leasehold {
namespace {

bool is_blank(char each) {
    return each == ' ' || (each >= '\t' && each <= '\r');
}

bool is_letter(char each) {
    return (each >= 'a' && each <= 'z') || (each >= 'A' && each <= 'Z');
}

// The size of the mark at the front of a comment that the server runs; 0 if none is there.
std::size_t size_of_run_mark(std::string_view sql, engine which) {
    if (which != engine::mysql && which != engine::mariadb) return 0;
    if (sql.starts_with("/*!")) return 3;
    return sql.starts_with("/*M!") ? 4 : 0;
}

// Behind the mark the server may be told from which version on it is to run the text.
std::size_t end_of_version(std::string_view sql, std::size_t at) {
    while (at < sql.size() && sql[at] >= '0' && sql[at] <= '9') ++at;
    return at;
}

bool begins_comment(std::string_view sql, engine which) {
    const char first = sql.front();
    const bool is_mark = first == '#' || first == '-' || first == '/';
    return is_mark && size_of_run_mark(sql, which) == 0;
}

}  // namespace

std::vector<std::string> statement_words(std::string_view sql, engine which, std::size_t limit) {
    std::vector<std::string> words;
    for (std::size_t at = 0; at < sql.size();) {
        const std::size_t mark = size_of_run_mark(sql.substr(at), which);
        constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";  // a blank to SQLite
        std::size_t end = end_of_quoted(sql, at, which);
        if (mark > 0) end = end_of_version(sql, at + mark);
        if (sql.substr(at).starts_with(byte_order_mark)) end = at + byte_order_mark.size();
        if (end != at) {
            at = end;
            continue;
        }
        const std::size_t begin = at;
        at = std::max(at + 1, end_of_word(sql, at));
        if (!is_letter(sql[begin])) continue;
        if (words.size() == limit) return words;
        words.emplace_back(sql.substr(begin, at - begin));
        for (char& each : words.back()) {
            if (is_letter(each)) each = static_cast<char>(each & ~0x20);
        }
    }
    return words;
}

std::vector<std::string_view> statements_in(std::string_view script, engine which) {
    std::vector<std::string_view> statements;
    std::size_t start = 0;
    bool has_content = false;
    for (std::size_t at = 0; at <= script.size();) {
        if (at == script.size() || script[at] == ';') {
            if (has_content) statements.push_back(script.substr(start, at - start));
            start = ++at;
            has_content = false;
        } else if (const auto end = end_of_quoted(script, at, which); end != at) {
            has_content = has_content || !begins_comment(script.substr(at), which);
            at = end;
        } else {
            has_content = has_content || !is_blank(script[at]);
            at = std::max(at + 1, end_of_word(script, at));
        }
    }
    return statements;
}

void refuse_second_statement() {
    throw error(
        errc::invalid_argument,
        "execute() takes one statement, and this text has another one behind it: execute each by "
        "itself; nothing was done"
    );
}

}  // namespace leasehold
