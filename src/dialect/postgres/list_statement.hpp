#pragma once
// Private to the PostgreSQL dialect: a plain read about a list of any length.
//
// Threads: asking is safe on distinct connections.
#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "dialect/sql_text.hpp"
#include "leasehold/connection.hpp"
#include "leasehold/database.hpp"

namespace leasehold::postgres_dialect {

// `head` VALUES-rows of (number, bytea, bytea, bigint) `tail`; each row of the answer begins with
// the number of the one it is about.
class list_statement {
public:
    list_statement(std::string_view head, std::string_view tail, const table_names& names) {
        for (std::size_t index = 0; index < sizes.size(); ++index) {
            texts_[index] = fill_in(text_of(head, sizes[index], tail), names);
        }
    }

    // `values_of(at)`: the three parameters of one of `count`; `use(at, row)` takes an answer.
    template <class Values, class Use>
    void ask(connection& on, std::size_t count, Values&& values_of, Use&& use) const {
        std::size_t first = 0;
        while (first < count) {
            const std::size_t left = count - first;
            std::size_t index = 0;
            while (index + 1 < sizes.size() && sizes[index] < left) ++index;
            const std::size_t asked = std::min(left, sizes[index]);
            parameters values;
            values.reserve(sizes[index] * columns);
            for (std::size_t number = 0; number < sizes[index]; ++number) {
                // The last one fills up the text.
                const parameters one = values_of(first + std::min(number, asked - 1));
                values.insert(values.end(), one.begin(), one.end());
            }
            for (const row& each : on.execute(texts_[index], values).rows) {
                const auto number = static_cast<std::size_t>(each.integer(0));
                use(first + std::min(number, asked - 1), each);
            }
            first += asked;
        }
    }

private:
    static constexpr std::size_t columns = 3;
    // Few different texts, because each is prepared once per connection.
    static constexpr std::array<std::size_t, 5> sizes{1, 4, 16, 64, 256};

    static std::string text_of(std::string_view head, std::size_t size, std::string_view tail) {
        std::string text{head};
        for (std::size_t number = 0; number < size; ++number) {
            const auto placeholder = [&](std::size_t column) {
                return "$" + std::to_string(number * columns + column);
            };
            text += number == 0 ? "(" : ", (";
            text += std::to_string(number) + ", " + placeholder(1) + "::bytea, " + placeholder(2) +
                    "::bytea, " + placeholder(3) + "::bigint)";
        }
        return text.append(tail);
    }

    std::array<std::string, sizes.size()> texts_;
};

}  // namespace leasehold::postgres_dialect
