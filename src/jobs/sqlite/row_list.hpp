#pragma once
// A statement about many rows at once, because a statement of SQLite costs more than its row:
// {rows} is ($3, $4), ($5, $6) … and {ids} the first column of those, $3, $5 …
//
// Threads: safe; the texts are made at the first use.
#include <algorithm>
#include <array>
#include <mutex>
#include <string>

#include "sql/sql_text.hpp"
#include "sql/statements.hpp"

namespace leasehold::sqlite_dialect {

class row_list {
public:
    // Few different texts, because each is prepared once per connection.
    static constexpr std::array<std::size_t, 3> sizes{128, 32, 8};

    // `before`: the parameters before those of the rows.
    row_list(std::string source, std::size_t before, std::size_t columns)
        : source_(std::move(source)), before_(before), columns_(columns) {}

    // The statement for the first of `count` rows, the number of these, and the places in its text.
    struct part {
        std::size_t rows = 0;
        const statement* text = nullptr;  // null: too few rows; they are sent one by one
        std::size_t places = 0;
    };
    // A text filled up with copies of the last row, which must not matter.
    part first_padded(std::size_t count) const {
        if (count < sizes.back()) return {count};
        std::size_t at = 0;
        while (at + 1 < sizes.size() && sizes[at + 1] >= count) ++at;
        return {std::min(count, sizes[at]), &text(at), sizes[at]};
    }
    // A full text.
    part first_full(std::size_t count) const {
        for (std::size_t at = 0; at < sizes.size(); ++at) {
            if (sizes[at] <= count) return {sizes[at], &text(at), sizes[at]};
        }
        return {count};
    }

private:
    const statement& text(std::size_t at) const {
        std::call_once(is_made_[at], [&] {
            std::string rows, ids;
            std::size_t place = before_;
            for (std::size_t row = 0; row < sizes[at]; ++row) {
                ids += (row == 0 ? "$" : ", $") + std::to_string(place + 1);
                rows += row == 0 ? "(" : ", (";
                for (std::size_t column = 0; column < columns_; ++column) {
                    rows += (column == 0 ? "$" : ", $") + std::to_string(++place);
                }
                rows += ")";
            }
            const std::string text = replaced(replaced(source_, "{rows}", rows), "{ids}", ids);
            texts_[at] = statement{text, engine::sqlite};
        });
        return texts_[at];
    }

    const std::string source_;
    const std::size_t before_, columns_;
    mutable std::array<std::once_flag, sizes.size()> is_made_;
    mutable std::array<statement, sizes.size()> texts_;
};

}  // namespace leasehold::sqlite_dialect
