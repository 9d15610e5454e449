#include "driver/mysql_text.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <initializer_list>

#include "core/hexadecimal.hpp"
#include "core/numbered_parameters.hpp"
#include "core/statement_words.hpp"
#include "leasehold/error.hpp"

namespace leasehold::mysql {
namespace {

std::string bytes_literal(std::string_view bytes) {
    return "x'" + in_hexadecimal(bytes) + '\'';
}

struct literal_maker {
    std::string operator()(std::monostate) const { return "NULL"; }
    std::string operator()(std::int64_t number) const { return std::to_string(number); }
    std::string operator()(double number) const {
        if (!std::isfinite(number)) {
            throw error{
                errc::invalid_argument,
                "a number is infinite or none at all, which MySQL and MariaDB cannot store"};
        }
        // Seventeen digits give every double back. Without an exponent the literal would be a
        // DECIMAL.
        std::array<char, 40> text{};
        std::snprintf(text.data(), text.size(), "%.16e", number);
        return text.data();
    }
    // An introducer and not CONVERT(… USING utf8mb4): it has the coercibility of an ordinary string
    // literal (4, against 2 of the function), so a column's collation decides, and bytes that are
    // no UTF-8 are refused (error 1300). Tried on both servers.
    std::string operator()(const std::string& text) const {
        return "_utf8mb4 " + bytes_literal(text);
    }
    std::string operator()(const blob& binary) const { return bytes_literal(binary.bytes); }
};

[[noreturn]] void wrong_count(std::size_t values) {
    throw error{
        errc::invalid_argument,
        "a statement has more or fewer places ($1 or ?) than the " + std::to_string(values) +
            " values given for them"};
}

}  // namespace

std::string with_literals(std::string_view sql, const parameters& values) {
    if (values.empty()) return std::string{sql};
    const std::vector<place> places = places_in(sql, engine::mysql);
    if (values_wanted(places) != values.size()) wrong_count(values.size());
    std::string text;
    text.reserve(sql.size() + places.size() * 40);
    std::size_t at = 0;
    for (const place& each : places) {
        text += sql.substr(at, each.at - at);
        // Spaces, because "LIKE?" would become one word and "-?" a comment.
        text += ' ';
        text += std::visit(literal_maker{}, values[each.number - 1].held());
        text += ' ';
        at = each.at + each.size;
    }
    return text += sql.substr(at);
}

bool has_second(std::string_view sql) {
    if (sql.find(';') == std::string_view::npos || statements_in(sql, engine::mysql).size() < 2)
        return false;
    const std::vector<std::string> words = statement_words(sql, engine::mysql, 16);
    if (words.empty()) return true;
    const auto is_any = [](const std::string& word, std::initializer_list<const char*> of) {
        return std::ranges::find(of, word) != of.end();
    };
    // Blocks of MariaDB's.
    if (words[0] == "BEGIN") return words.size() < 2 || words[1] != "NOT";
    if (is_any(words[0], {"IF", "CASE", "LOOP", "WHILE", "REPEAT", "FOR"})) return false;
    if (!is_any(words[0], {"CREATE", "ALTER"})) return true;
    return std::ranges::none_of(words, [&](const std::string& each) {
        return is_any(each, {"PROCEDURE", "FUNCTION", "TRIGGER", "EVENT", "PACKAGE"});
    });
}

transaction_step step_of(std::string_view statement) {
    const std::vector<std::string> words = statement_words(statement, engine::mysql, 6);
    if (words.empty()) return transaction_step::none;
    const auto has = [&words](std::string_view wanted) {
        return std::ranges::find(words, wanted) != words.end();
    };
    if (words[0] == "BEGIN" && !has("NOT")) return transaction_step::begins;  // BEGIN NOT ATOMIC
    if (words[0] == "START" && has("TRANSACTION")) return transaction_step::begins;
    if (has("CHAIN")) return transaction_step::none;
    if (words[0] == "COMMIT") return transaction_step::commits;
    if (words[0] == "ROLLBACK" && !has("TO")) return transaction_step::rolls_back;
    return transaction_step::none;
}

}  // namespace leasehold::mysql
