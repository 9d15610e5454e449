#pragma once
// The common knowledge of both kinds of claim about their table: the engine it is on, and that the
// mapping was checked against its catalogue before anything else was sent.
//
// Threads: safe.
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "claims/mapping_check.hpp"
#include "core/thread_mutex.hpp"
#include "leasehold/database.hpp"
#include "leasehold/error.hpp"
#include "sql/store_set.hpp"

namespace leasehold {

// A table that was looked at.
struct known_table {
    qualified_name table;
    leasehold::engine engine{};
    std::shared_ptr<const table_store> dialect;
    std::vector<column_shape> columns;
    std::string index;
    std::string late_index;
    std::string key_index;
    std::vector<std::string> warnings;
    std::string change_denied;  // the right the user lacks to claim or change rows; empty: none
};

class claim_table {
public:
    // `need_on`: the mapping's needs on an engine; throws if it can never work there.
    explicit claim_table(std::function<table_need(engine)> need_on)
        : need_on_(std::move(need_on)) {}

    // Looks at the table, and throws if the mapping does not fit; answers with warnings.
    std::vector<std::string> check(connection& inside);
    void check(const database& db);

    // Begins every operation: requires a transaction that can be taken part in, and the table,
    // looked at if it was not before. Throws wrong_transaction and what check() throws; reading
    // needs fewer rights. `require` throws if the arguments do not fit. Before this refuses rights
    // or arguments it looks at the table anew and judges once more, since a right may have been
    // granted, a column widened or a label added.
    template <class Require>
    std::shared_ptr<const known_table> enter_to_read(
        connection& inside, std::string_view what, Require&& require
    ) {
        auto known = fitting(inside, what, require);
        if (known) return known;
        known = look_again(inside);
        require(*known);
        return known;
    }

    // As enter_to_read(), for an operation that locks rows. Null if somebody else has SQLite's
    // write lock: call again. On SQLite it takes that lock before it looks at the table, because a
    // look is a read: a transaction that has read does not wait for a writer, and can no longer
    // write once that writer has committed.
    template <class Require>
    std::shared_ptr<const known_table> enter_to_change(
        connection& inside, std::string_view what, claim_use use, Require&& require
    ) {
        const auto judge = [&](const known_table& table) {
            require_right_to_change(table);
            require(table);
        };
        auto known = fitting(inside, what, judge);
        if (known) {
            return known->dialect->enter(inside, known->table, use) ? known : nullptr;
        }
        if (!enter_unseen(inside, use)) return nullptr;
        known = look_again(inside);
        judge(*known);
        return known;
    }

    // Runs a statement that names the table's index; if the index is gone by now, once more with
    // the table looked at anew.
    template <class Run>
    auto with_index(connection& inside, std::shared_ptr<const known_table>& known, Run&& run) {
        try {
            return run();
        } catch (const error& failure) {
            if (!known->dialect->lacks_index(failure)) throw;
        }
        known = look_again(inside);
        return run();
    }

    std::shared_ptr<const known_table> look_again(connection& inside);

private:
    static void require_right_to_change(const known_table& table);

    // The known table; null if there is none, or `judge` throws. Sends nothing.
    template <class Judge>
    std::shared_ptr<const known_table> fitting(
        connection& inside, std::string_view what, Judge&& judge
    ) {
        auto known = known_on(inside, what);
        if (!known) return nullptr;
        try {
            judge(*known);
            return known;
        } catch (const error&) {
            return nullptr;
        }
    }
    std::shared_ptr<const known_table> known_on(connection& inside, std::string_view what);
    bool enter_unseen(connection& inside, claim_use use);
    std::shared_ptr<const known_table> look(connection& inside) const;

    const std::function<table_need(engine)> need_on_;
    thread_mutex mutex_;
    std::shared_ptr<const known_table> known_ LEASEHOLD_GUARDED_BY(mutex_);
};

// Throws invalid_argument if a claim cannot be of `n` rows.
void require_row_count(int n);

// Throws invalid_argument if a value cannot be one of that column, or the column is missing.
void require_values(
    const known_table& table, const std::vector<condition>& conditions, time_kind times
);
void require_values(const known_table& table, const assignments& to);
void require_key(
    const known_table& table, const std::vector<std::string>& key, const parameters& values
);

// The reason why two different values are equal to that column, as the database compares; a text to
// follow the column's name. Empty if the column tells them apart.
std::string taken_for_one(
    const known_table& table,
    connection& inside,
    const std::string& column,
    const value& one,
    const value& other
);

// As taken_for_one(), for each column that is assigned another value than it is compared with.
std::string taken_for_the_same(
    const known_table& table,
    connection& inside,
    const std::vector<condition>& conditions,
    const assignments& to
);

// Throws invalid_argument if there is none.
const column_shape& column_of(const known_table& table, const std::string& name);
// True when foreign keys could refer to one of these. An empty name is a column the mapping lacks.
bool is_any_referable(const known_table& table, const std::vector<std::string>& columns);

// Values in the form that the engine takes for those columns.
value as_sent(const known_table& table, const std::string& column, const value& given);
parameters as_sent(
    const known_table& table, const std::vector<std::string>& key, const parameters& values
);
void make_sendable(const known_table& table, std::vector<condition>& conditions);

}  // namespace leasehold
