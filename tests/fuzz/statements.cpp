// The reader of SQL: places lie one behind another inside of the text, and parts are parts of it.
#include <string>

#include "core/numbered_parameters.hpp"
#include "core/statement_words.hpp"
#include "driver/mysql_text.hpp"
#include "fuzz.hpp"

namespace leasehold::fuzz {

void try_text(std::string_view text) {
    for (const engine which : {engine::postgres, engine::mysql, engine::mariadb, engine::sqlite}) {
        is_taken([&] {
            std::size_t behind = 0;
            for (const place& each : places_in(text, which)) {
                require(each.at >= behind && each.size > 0, "places lie one behind another");
                behind = each.at + each.size;
                require(behind <= text.size(), "a place lies inside of the text");
            }
        });
        for (const std::string& each : statement_words(text, which, 4)) {
            require(!each.empty(), "a word has a letter");
        }
        for (const std::string_view each : statements_in(text, which)) {
            require(each.data() >= text.data(), "a statement is a part of the script");
            require(each.data() + each.size() <= text.data() + text.size(), "it is a part");
        }
        for (std::size_t at = 0; at < text.size(); at += 1 + at / 4) {
            const auto end = end_of_quoted(text, at, which);
            require(end >= at && end <= text.size(), "a string ends behind its begin");
        }
    }
    mysql::has_second(text);
    mysql::step_of(text);
    is_taken([&] { mysql::with_literals(text, {std::int64_t{1}, std::string{"two"}, blob{"x"}}); });
}

}  // namespace leasehold::fuzz
