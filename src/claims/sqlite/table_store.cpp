// Claims on the user's tables on SQLite: one writer, so all that is read under the write lock is
// true until the commit, and no row is ever locked by somebody else.
//
// Names in `…`: SQLite would take a word in "…" that is no column for a string.
#include <algorithm>
#include <iterator>

#include "claims/sql_plain_table_store.hpp"
#include "claims/sql_stores.hpp"
#include "claims/table_store.hpp"
#include "leasehold/error.hpp"
#include "sql/row_columns.hpp"
#include "sql/sql_text.hpp"
#include "sql/sqlite/dialect.hpp"

namespace leasehold::sqlite_dialect {
namespace {

// The machine's wall clock, in milliseconds, as people's tables have it. The clock since boot of
// our own tables would mean nothing to them.
std::string now(time_kind times) {
    if (times == time_kind::microseconds) {
        return "(CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000)";
    }
    return "strftime('%Y-%m-%d %H:%M:%f', 'now')";
}

std::string later(time_kind times, const std::string& place) {
    if (times == time_kind::microseconds) return now(times).append(" + ").append(place);
    return "strftime('%Y-%m-%d %H:%M:%f', 'now', (" + place + " / 1000000.0) || ' seconds')";
}

std::string is_exactly(const std::string& column, const std::string& place) {
    return column + " = " + place + " COLLATE BINARY";
}

constexpr claim_words words{
    .quote = '`',
    .has_numbered_places = false,
    .set_prefix = "",
    .now = now,
    .began = nullptr,
    .later = later,
    .is_exactly = is_exactly,
    .forces_indexes = false,
    .has_schema_before_index = true,
    .bytes_begin = "x'",
    .bytes_end = "'",
    .integer_type = "INTEGER",
    .number_type = "REAL",
    .text_type = "TEXT",
    .bytes_type = "BLOB",
    .instant_type = "TEXT",
    .utc_type = "TEXT",
};

// The pragmas below fail if the schema does not exist. SQLite promises the name of a column for an
// AS alone.
constexpr std::string_view schema_sql = "SELECT 1 FROM pragma_database_list WHERE name = ?1";
constexpr std::string_view columns_sql =
    "SELECT name AS name, upper(type) AS type, \"notnull\" AS is_not_null, pk AS key_place,"
    " hidden AS hidden FROM pragma_table_xinfo(?1, ?2) ORDER BY cid";
constexpr std::string_view indexes_sql =
    "SELECT name AS name, \"unique\" AS is_unique, partial AS is_partial, origin AS origin"
    " FROM pragma_index_list(?1, ?2) ORDER BY seq";
// Key parts, then the rowid or primary key that SQLite appends; the rowid has no name.
constexpr std::string_view parts_sql =
    "SELECT name AS name, \"desc\" AS is_descending, \"key\" AS is_own"
    " FROM pragma_index_xinfo(?1, ?2) ORDER BY seqno";

// Follows the rules of column affinity, in their order (sqlite.org/datatype3.html, section 3.1).
column_kind kind_of(const std::string& type) {
    const auto has = [&](const char* word) { return type.find(word) != std::string::npos; };
    if (has("INT")) return column_kind::integer;
    if (has("CHAR") || has("CLOB") || has("TEXT")) return column_kind::text;
    if (has("BLOB")) return column_kind::any;
    if (has("REAL") || has("FLOA") || has("DOUB")) return column_kind::number;
    return column_kind::any;
}

// True in rollback-journal and WAL mode alike when somebody else has the write lock.
bool is_busy(const error& failure) {
    constexpr int busy = 5;
    constexpr int busy_snapshot = 517;  // waiting cannot help: the transaction is too old
    return (failure.native_code() & 0xff) == busy && failure.native_code() != busy_snapshot;
}

// ------------------------------------------------------------------------- equality of values

// Different values that a column compares as equal: by its collation, which the catalogue does not
// tell, and by its affinity, which converts text that is a number.

constexpr std::string_view type_sql =
    "SELECT upper(type) FROM pragma_table_xinfo(?1, ?2) WHERE lower(name) = lower(?3)";
constexpr std::string_view collations_sql =
    "SELECT name AS name, coll AS collation FROM pragma_index_xinfo(?1, ?2)"
    " WHERE \"key\" AND name IS NOT NULL";

std::string name_of(const std::string& identifier) {
    return quoted_identifier(identifier, '`');
}
std::string schema_of(const qualified_name& table) {
    return table.schema.empty() ? "main" : table.schema;
}

// The value that a column of that type holds for the value at the place. CAST would make a number
// of any text, and a comparison with a number makes one only of text that is one.
std::string held_as(const std::string& type, const std::string& place) {
    const auto has = [&](const char* word) { return type.find(word) != std::string::npos; };
    const bool is_integer = has("INT");
    if (!is_integer && (has("CHAR") || has("CLOB") || has("TEXT"))) {
        return "CASE typeof(" + place + ") WHEN 'blob' THEN " + place + " ELSE CAST(" + place +
               " AS TEXT) END";
    }
    if (!is_integer && (type.empty() || has("BLOB"))) return place;
    const bool is_real = !is_integer && (has("REAL") || has("FLOA") || has("DOUB"));
    const std::string number = "CAST(" + place + (is_real ? " AS REAL)" : " AS NUMERIC)");
    return "CASE WHEN " + number + " = " + place + " THEN " + number + " ELSE " + place + " END";
}

// Counts the values that the column tells apart: UNION merges values that the column of its first
// SELECT compares as equal.
std::string count_of(
    const qualified_name& table,
    const std::string& column,
    const std::string& one,
    const std::string& other
) {
    return "(SELECT count(*) FROM (SELECT t." + name_of(column) + " FROM " +
           name_of(schema_of(table)) + "." + name_of(table.name) + " AS t WHERE 0 UNION SELECT " +
           one + " UNION SELECT " + other + "))";
}

// ---------------------------------------------------------------------------------- the store

class sqlite_table_store final : public plain_table_store {
public:
    sqlite_table_store() : plain_table_store(words) {}

    table_shape look_up(connection& inside, const qualified_name& table) const override {
        const std::string schema = schema_of(table);
        table_shape found;
        if (inside.execute(schema_sql, {schema}).rows.empty()) return found;
        std::string rowid_column;
        int key_columns = 0;
        for (const row& each : inside.execute(columns_sql, {table.name, schema}).rows) {
            constexpr std::int64_t first_generated = 2;  // virtual; 3 is stored
            column_shape column;
            column.name = each.text("name");
            column.type = each.text("type");
            column.kind = kind_of(column.type);
            column.is_nullable = each.integer("is_not_null") == 0;
            column.is_generated = each.integer("hidden") >= first_generated;
            const bool is_in_key = each.integer("key_place") > 0;
            if (is_in_key) ++key_columns;
            if (is_in_key && column.type == "INTEGER") rowid_column = column.name;
            found.columns.push_back(std::move(column));
        }
        if (key_columns != 1) rowid_column.clear();
        if (!rowid_column.empty()) {
            for (column_shape& each : found.columns) {
                if (each.name == rowid_column) each.is_nullable = false;
            }
            index_shape& rowid = found.indexes.emplace_back();
            rowid.parts = {{rowid_column}};
            rowid.own_parts = 1;
            rowid.is_unique = rowid.is_primary = true;
        }
        for (const row& each : inside.execute(indexes_sql, {table.name, schema}).rows) {
            index_shape index;
            index.name = each.text("name");
            index.is_unique = each.integer("is_unique") == 1;
            index.is_partial = each.integer("is_partial") == 1;
            index.is_primary = each.text("origin") == "pk";
            for (const row& part : inside.execute(parts_sql, {index.name, schema}).rows) {
                const std::string name = part.is_null("name") ? rowid_column : part.text("name");
                index.parts.push_back({name, part.integer("is_descending") == 1});
                if (part.integer("is_own") == 1) ++index.own_parts;
            }
            index.is_finer = index.is_unique && is_finer(inside, table, index.name);
            found.indexes.push_back(std::move(index));
        }
        return found;
    }

    std::optional<std::string> taken_for_one(
        connection& inside,
        const qualified_name& table,
        const std::string& column,
        const value& one,
        const value& other
    ) const override {
        const auto shape = inside.execute(type_sql, {table.name, schema_of(table), column});
        const std::string type = only_text(shape);
        const std::string held = held_as(type, "?1");
        const std::string other_held = held_as(type, "?2");
        const row said = inside
                             .execute(
                                 "SELECT " + count_of(table, column, held, other_held) +
                                     " AS told_apart, " + held + " = " + other_held + " AS is_one",
                                 {one, other}
                             )
                             .rows.at(0);
        if (said.integer("told_apart") != 1) return std::nullopt;
        const std::string is_type = type.empty() ? "of no type" : type;
        if (said.integer("is_one") == 1) return is_type;  // its type alone makes them one
        std::string names;
        const result all = inside.execute("SELECT name FROM pragma_collation_list");
        for (const std::string& each : only_texts(all)) {
            const auto is_one =
                inside.execute("SELECT ?1 = ?2 COLLATE " + name_of(each), {one, other});
            if (only_integer(is_one) != 1) continue;
            names += (names.empty() ? "" : " or ") + each;
        }
        return is_type + " with collation " + names;
    }

    // A write that changes no row: the lock is taken before the first read, which would otherwise
    // fix a snapshot that cannot be written on any more once somebody else has committed.
    bool enter(connection& inside, const qualified_name& table, claim_use) const override {
        try {
            claim_statement locking = begin("DELETE FROM ");
            locking.table(table).sql(" WHERE 0").run(inside);
            return true;
        } catch (const error& failure) {
            if (!is_busy(failure)) throw;
            return false;
        }
    }

    bool claim(
        connection& inside,
        const versioned_mapping& mapping,
        const versioned_row& as_read,
        bool /*is_referable*/
    ) const override {
        claim_statement asking = begin("UPDATE ");
        asking.table(mapping.table).sql(" AS t SET ");
        asking.set_claimed(mapping, as_read.claimed_as).sql(" WHERE ");
        asking.key_is(mapping.key, as_read.key).sql(" AND ").name(mapping.version).sql(" = ");
        asking.put(as_read.version).sql(" AND ").available(mapping);
        return is_one(asking.run(inside).affected_rows, mapping);
    }

    // A read under the write lock stays true: every chosen row is claimed. Nobody else claims at
    // the same time, so there are no locked rows to pass over, and neighbours share their pages.
    several_claimed claim_several(connection& inside, const several_request& wanted)
        const override {
        const versioned_mapping& mapping = wanted.mapping;
        std::vector<std::string> selected = mapping.key;
        selected.push_back(mapping.version);
        selected.insert(selected.end(), mapping.columns.begin(), mapping.columns.end());
        claim_statement asking = begin("SELECT * FROM (");
        ranges(asking, wanted, selected).sql(") WHERE c" + std::to_string(mapping.key.size()));
        asking.sql(" < ").put(wanted.version_most);
        const result found = asking.sql(" LIMIT ").put(wanted.count).run(inside);
        several_claimed got;
        for (const row& each : found.rows) {
            versioned_row mine =
                versioned_row_of(each, 0, mapping.key.size(), mapping.columns.size());
            mine.claimed_as = wanted.claimed_as;
            if (claim(inside, mapping, mine, false)) got.rows.push_back(std::move(mine));
        }
        return got;
    }

    change_outcome change(connection& inside, const change_request& wanted, const versioned_row& at)
        const override {
        claim_statement asking = begin("UPDATE ");
        asking.table(wanted.mapping.table).sql(" AS t SET ").set_changed(wanted, at.is_claimed);
        asking.sql(" WHERE ").still_is(wanted.mapping, at);
        const bool is_done = is_one(asking.run(inside).affected_rows, wanted.mapping);
        return is_done ? change_outcome::done : change_outcome::lost;
    }

    // There is no round trip to save, and each statement is prepared once.
    std::vector<change_outcome> change_several(
        connection& inside, const change_request& wanted, std::span<const versioned_row> rows
    ) const override {
        std::vector<change_outcome> outcomes;
        for (const versioned_row& each : rows) outcomes.push_back(change(inside, wanted, each));
        return outcomes;
    }

private:
    // SQLite takes expressions no deeper than 1000: asks for many keys in parts. Nobody else can
    // change anything between the parts.
    std::vector<claimed_row> lock_rows(connection& inside, const row_request& wanted)
        const override {
        constexpr std::size_t max_keys = 200;
        std::vector<claimed_row> all;
        std::size_t first = 0;
        do {
            row_request part = wanted;
            const auto begin = wanted.keys.begin() + static_cast<std::ptrdiff_t>(first);
            const auto left = wanted.keys.size() - first;
            part.keys.assign(begin, begin + static_cast<std::ptrdiff_t>(std::min(max_keys, left)));
            first += part.keys.size();
            const int limit = wanted.limit - static_cast<int>(all.size());
            auto rows =
                rows_of(rows_text(part).sql(" LIMIT ").put(limit).run(inside), wanted.mapping);
            std::ranges::move(rows, std::back_inserter(all));
        } while (first < wanted.keys.size());
        return all;
    }

    // Tests the index with values that the collations of SQLite itself compare as equal.
    static bool is_finer(
        connection& inside, const qualified_name& table, const std::string& index
    ) {
        const auto parts = inside.execute(collations_sql, {index, schema_of(table)}).rows;
        return std::ranges::any_of(parts, [&](const row& part) {
            return is_finer_than(inside, table, part.text("name"), part.text("collation"));
        });
    }

    static bool is_finer_than(
        connection& inside,
        const qualified_name& table,
        const std::string& column,
        const std::string& collation
    ) {
        std::string asking = "SELECT 1 WHERE 0";
        for (const std::string other : {"'A'", "'a '"}) {
            asking += " OR " + count_of(table, column, "'a'", other) + " = 1 AND 'a' <> " + other +
                      " COLLATE " + name_of(collation);
        }
        return !inside.execute(asking).rows.empty();
    }
};

}  // namespace

std::unique_ptr<table_store> make_table_store() {
    return std::make_unique<sqlite_table_store>();
}

}  // namespace leasehold::sqlite_dialect
