#include "core/statement_words.hpp"

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

bool continues_word(char each) {
    return is_letter(each) || (each >= '0' && each <= '9') || each == '_';
}

// The size of the mark at the front of a comment that the server runs; 0 if none is there.
std::size_t size_of_run_mark(std::string_view sql, engine which) {
    if (which != engine::mysql && which != engine::mariadb) return 0;
    if (sql.starts_with("/*!")) return 3;
    return sql.starts_with("/*M!") ? 4 : 0;
}

bool begins_comment(std::string_view sql, engine which) {
    const char first = sql.front();
    const bool is_mark = first == '#' || first == '-' || first == '/';
    return is_mark && size_of_run_mark(sql, which) == 0;
}

}  // namespace

std::vector<std::string> statement_words(std::string_view sql, engine which, std::size_t limit) {
    std::vector<std::string> words;
    bool is_inside = false;
    for (std::size_t at = 0; at < sql.size();) {
        const std::size_t mark = size_of_run_mark(sql.substr(at), which);
        const std::size_t end = mark > 0 ? at + mark : end_of_quoted(sql, at, which);
        if (end != at) {
            at = end;
            is_inside = false;
            continue;
        }
        const char each = sql[at++];
        if (!is_inside && is_letter(each)) {
            if (words.size() == limit) return words;
            words.emplace_back();
            is_inside = true;
        }
        is_inside = is_inside && continues_word(each);
        if (is_inside) words.back() += is_letter(each) ? static_cast<char>(each & ~0x20) : each;
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
            ++at;
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
