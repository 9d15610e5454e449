#pragma once
// Private to the MySQL dialect: a plain read about a list of any length.
//
// Threads: asking is safe on distinct connections.
#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "dialect/mysql/stores.hpp"

namespace leasehold::mysql_dialect {

// `head` a derived table of (number, lock_key, owner, amount), one row for each of at most 256,
// `tail`; each row of the answer begins with the number of the one it is about.
class list_statement {
public:
    list_statement(
        std::string_view head, std::string_view tail, const table_names& names, engine which
    )
        : head_(statement(head, names, which)), tail_(statement(tail, names, which)) {}

    // `values_of(at)`: the three parameters of one of `count`; `use(at, row)` takes an answer.
    template <class Values, class Use>
    void ask(connection& on, std::size_t count, Values&& values_of, Use&& use) const {
        for (std::size_t first = 0; first < count; first += rows_max) {
            const std::size_t last = std::min(count, first + rows_max);
            std::string sql = head_;
            parameters values;
            for (std::size_t at = first; at < last; ++at) {
                sql += at == first ? "SELECT ? AS number, ? AS lock_key, ? AS owner, ? AS amount"
                                   : " UNION ALL SELECT ?, ?, ?, ?";
                values.emplace_back(static_cast<std::int64_t>(at));
                const parameters one = values_of(at);
                values.insert(values.end(), one.begin(), one.end());
            }
            for (const row& each : on.execute(sql + tail_, values).rows) {
                use(static_cast<std::size_t>(each.integer(0)), each);
            }
        }
    }

private:
    static constexpr std::size_t rows_max = 256;

    const std::string head_;
    const std::string tail_;
};

}  // namespace leasehold::mysql_dialect
