#include "claims/claim_table.hpp"

#include <algorithm>
#include <sstream>

#include "claims/value_check.hpp"
#include "core/model_engine.hpp"
#include "database/database.hpp"
#include "database/taking_part.hpp"
#include "leasehold/error.hpp"

namespace leasehold {
namespace {

// On PostgreSQL the refusal would abort the transaction it is tried in.
[[noreturn]] void deny(const std::string& table, const std::string& right) {
    throw error(
        errc::permission_denied,
        "the user of this connection may not use rows of table " + table + ": grant " + right
    );
}

void require_right(const known_table& table, const column_shape& column, value_use use) {
    const bool is_stored = use == value_use::stored;
    if (is_stored ? column.may_be_changed : column.may_be_read) return;
    deny(
        table.table.name,
        (is_stored ? "the right to UPDATE column " : "the right to SELECT column ") + column.name
    );
}

void require_fit(
    const known_table& table, const std::string& name, const value& given, value_use use
) {
    const column_shape& column = column_of(table, name);
    require_right(table, column, use);
    const std::string clause = misfit(column, given, use);
    if (clause.empty()) return;
    throw error(
        errc::invalid_argument, "column " + name + " of table " + table.table.name + " " + clause
    );
}

void require_due(const known_table& table, const std::string& name, time_kind times) {
    const column_shape& column = column_of(table, name);
    require_right(table, column, value_use::compared);
    const auto kinds = kinds_of(times, table.engine);
    if (std::ranges::find(kinds, column.kind) != kinds.end()) return;
    throw error(
        errc::invalid_argument,
        "column " + name + " is " + column.type + ", and only " + name_of(kinds.front()) +
            " can be due"
    );
}

// The value in the form in which people write it.
std::string shown(const value& each) {
    if (const auto* text = std::get_if<std::string>(&each.held())) return "'" + *text + "'";
    if (const auto* number = std::get_if<std::int64_t>(&each.held())) {
        return std::to_string(*number);
    }
    if (const auto* real = std::get_if<double>(&each.held())) {
        std::ostringstream text;
        text << *real;
        return text.str();
    }
    return "bytes";
}

// Only the database can tell whether two values are one to a column: by its collation, and by the
// way it rounds, pads or converts.
void require_told_apart(const known_table& table, connection& inside, const table_need& need) {
    for (auto at = need.columns.begin(); at != need.columns.end(); ++at) {
        std::vector<value> all = at->told_apart;
        for (auto later = at + 1; later != need.columns.end(); ++later) {
            if (!table.dialect->is_same_column(at->name, later->name)) continue;
            all.insert(all.end(), later->told_apart.begin(), later->told_apart.end());
        }
        for (std::size_t one = 0; one < at->told_apart.size(); ++one) {
            for (std::size_t other = one + 1; other < all.size(); ++other) {
                const std::string why =
                    taken_for_one(table, inside, at->name, all[one], all[other]);
                if (why.empty()) continue;
                throw error(
                    errc::schema_mismatch,
                    "rows of table " + need.table.name + " cannot be claimed: column " + at->name +
                        " (" + at->role + ") " + why
                );
            }
        }
    }
}

std::shared_ptr<const table_store> dialect_of(engine which) {
    if (which == model_engine) {
        throw error(errc::unsupported, "the model database has no tables to claim from");
    }
    return table_store::make(which);
}

}  // namespace

const column_shape& column_of(const known_table& table, const std::string& name) {
    if (const auto* found = find_column(*table.dialect, table.columns, name)) return *found;
    throw error(errc::invalid_argument, "the table has no column " + name);
}

void claim_table::require_right_to_change(const known_table& table) {
    if (!table.change_denied.empty()) deny(table.table.name, table.change_denied);
}

std::shared_ptr<const known_table> claim_table::look(connection& inside) const {
    const auto found = std::make_shared<known_table>();
    found->engine = inside.server().engine;
    found->dialect = dialect_of(found->engine);
    const table_need need = need_on_(found->engine);
    const table_shape shape = found->dialect->look_up(inside, need.table);
    mapping_verdict verdict = judge(need, shape, *found->dialect);
    if (!verdict.problem.empty()) throw error(errc::schema_mismatch, verdict.problem);
    if (!verdict.read_denied.empty()) deny(need.table.name, verdict.read_denied);
    found->table = need.table;
    found->change_denied = std::move(verdict.change_denied);
    found->columns = shape.columns;
    found->index = verdict.index;
    found->late_index = verdict.late_index;
    found->key_index = verdict.key_index;
    found->warnings = std::move(verdict.warnings);
    require_told_apart(*found, inside, need);
    return found;
}

std::shared_ptr<const known_table> claim_table::look_again(connection& inside) {
    auto found = look(inside);
    const thread_guard guard{mutex_};
    known_ = found;
    return found;
}

std::vector<std::string> claim_table::check(connection& inside) {
    const auto known = look_again(inside);
    require_right_to_change(*known);
    return known->warnings;
}

void claim_table::check(const database& db) {
    const auto warnings =
        db.inner()->use_unchecked([&](connection& on, store_set&) { return check(on); });
    for (const std::string& each : warnings) db.inner()->tell({event_kind::warning, "", 0, each});
}

std::shared_ptr<const known_table> claim_table::known_on(
    connection& inside, std::string_view what
) {
    require_transaction(inside, what);
    const thread_guard guard{mutex_};
    if (known_ && known_->engine != inside.server().engine) {
        throw error(
            errc::wrong_transaction,
            std::string(what) + " got a transaction of " +
                std::string(name_of(inside.server().engine)) + " for a table on " +
                std::string(name_of(known_->engine)) + "; one object, one database"
        );
    }
    return known_;
}

// Enters a table that may be missing, or may differ from the mapping.
bool claim_table::enter_unseen(connection& inside, claim_use use) {
    const engine which = inside.server().engine;
    const auto dialect = dialect_of(which);
    const qualified_name table = need_on_(which).table;
    try {
        return dialect->enter(inside, table, use);
    } catch (const error&) {
        // If the table is at fault, a look at the catalogue gives the clearer error.
        if (inside.state() == connection_state::in_transaction) look_again(inside);
        throw;
    }
}

void require_row_count(int n) {
    if (n < 1 || n > 1000) throw error(errc::invalid_argument, "a claim is of 1 to 1000 rows");
}

void require_values(
    const known_table& table, const std::vector<condition>& conditions, time_kind times
) {
    require_conditions(conditions);
    for (const condition& each : conditions) {
        if (each.is == comparison::is_due) {
            require_due(table, each.column, times);
        } else {
            require_fit(table, each.column, each.than, value_use::compared);
        }
    }
}

void require_values(const known_table& table, const assignments& to) {
    for (std::size_t at = 0; at < to.size(); ++at) {
        const assignment& each = to[at];
        require_fit(table, each.column, each.to, value_use::stored);
        const column_shape& column = column_of(table, each.column);
        const char* why = nullptr;
        if (column.is_generated) why = " is written by the database alone";
        if (column.is_partition_key) {
            why =
                " is what the table is partitioned by: the row would move, which aborts the "
                "transactions of others who meet it";
        }
        for (std::size_t before = 0; before < at; ++before) {
            if (!table.dialect->is_same_column(to[before].column, each.column)) continue;
            why = " is assigned twice";
        }
        if (why != nullptr) throw error(errc::invalid_argument, "column " + each.column + why);
    }
}

void require_key(
    const known_table& table, const std::vector<std::string>& key, const parameters& values
) {
    if (values.size() != key.size()) {
        throw error(
            errc::invalid_argument,
            "the key has " + std::to_string(key.size()) + " columns and " +
                std::to_string(values.size()) + " values were given"
        );
    }
    for (std::size_t at = 0; at < key.size(); ++at) {
        if (values[at].is_null()) {
            throw error(
                errc::invalid_argument,
                "the value for column " + key[at] + " of the key of table " + table.table.name +
                    " is null, which names no row: give the value that the row has there"
            );
        }
        require_fit(table, key[at], values[at], value_use::key);
    }
}

std::string taken_for_one(
    const known_table& table,
    connection& inside,
    const std::string& column,
    const value& one,
    const value& other
) {
    if (one == other) return "";
    const auto by = table.dialect->taken_for_one(
        inside,
        table.table,
        column_of(table, column).name,
        as_sent(table, column, one),
        as_sent(table, column, other)
    );
    if (!by) return "";
    return "is " + *by + ", which takes " + shown(one) + " and " + shown(other) +
           " for one value: choose others, or a collation that tells them apart";
}

std::string taken_for_the_same(
    const known_table& table,
    connection& inside,
    const std::vector<condition>& conditions,
    const assignments& to
) {
    for (const condition& each : conditions) {
        if (each.is != comparison::equal) continue;
        for (const assignment& given : to) {
            if (!table.dialect->is_same_column(each.column, given.column)) continue;
            if (given.to.is_null()) continue;
            const std::string why = taken_for_one(table, inside, each.column, each.than, given.to);
            if (!why.empty()) return "column " + each.column + " " + why;
        }
    }
    return "";
}

bool is_any_referable(const known_table& table, const std::vector<std::string>& columns) {
    return std::ranges::any_of(columns, [&](const std::string& each) {
        return !each.empty() && column_of(table, each).is_referable;
    });
}

value as_sent(const known_table& table, const std::string& column, const value& given) {
    return given.is_null() ? given : table.dialect->as_sent(column_of(table, column), given);
}
void make_sendable(const known_table& table, std::vector<condition>& conditions) {
    for (condition& each : conditions) each.than = as_sent(table, each.column, each.than);
}
parameters as_sent(
    const known_table& table, const std::vector<std::string>& key, const parameters& values
) {
    parameters sent;
    for (std::size_t at = 0; at < key.size(); ++at) {
        sent.push_back(as_sent(table, key[at], values[at]));
    }
    return sent;
}

}  // namespace leasehold
