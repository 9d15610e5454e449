// Claims on the user's tables on SQLite: one writer, so whatever is read under the write lock is
// true until the commit, and no row is ever locked by somebody else.
//
// Names in `…`: what is in "…" and is no column would be taken for a string.
#include <algorithm>
#include <iterator>

#include "dialect/claim_text.hpp"
#include "dialect/sqlite/stores.hpp"
#include "leasehold/error.hpp"
#include "store/claim_store.hpp"

namespace leasehold::sqlite_dialect {
namespace {

// The machine's wall clock, in milliseconds: what people's tables have. Not the clock since boot of
// our own tables, which would mean nothing to them.
std::string now(time_kind times) {
    if (times == time_kind::microseconds) {
        return "(CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000)";
    }
    return "strftime('%Y-%m-%d %H:%M:%f', 'now')";
}

std::string later(time_kind times, const std::string& place) {
    if (times == time_kind::microseconds) return now(times) + " + " + place;
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

// The pragmas below fail on a schema that is not there.
constexpr std::string_view schema_sql = "SELECT 1 FROM pragma_database_list WHERE name = ?1";
constexpr std::string_view columns_sql =
    "SELECT name, upper(type), \"notnull\", pk, hidden FROM pragma_table_xinfo(?1, ?2)"
    " ORDER BY cid";
constexpr std::string_view indexes_sql =
    "SELECT name, \"unique\", partial, origin FROM pragma_index_list(?1, ?2) ORDER BY seq";
// Key parts, then the rowid or primary key that SQLite appends; the rowid has no name.
constexpr std::string_view parts_sql =
    "SELECT name, \"desc\", \"key\" FROM pragma_index_xinfo(?1, ?2) ORDER BY seqno";

// By the rules of column affinity, in their order (sqlite.org/datatype3.html, section 3.1).
column_kind kind_of(const std::string& type) {
    const auto has = [&](const char* word) { return type.find(word) != std::string::npos; };
    if (has("INT")) return column_kind::integer;
    if (has("CHAR") || has("CLOB") || has("TEXT")) return column_kind::text;
    if (has("BLOB")) return column_kind::any;
    if (has("REAL") || has("FLOA") || has("DOUB")) return column_kind::number;
    return column_kind::any;
}

// In rollback-journal and WAL mode alike: somebody else has the write lock.
bool is_busy(const error& failure) {
    constexpr int busy = 5;
    constexpr int busy_snapshot = 517;  // waiting cannot help: the transaction is too old
    return (failure.native_code() & 0xff) == busy && failure.native_code() != busy_snapshot;
}

class sqlite_claim_store final : public plain_claim_store {
public:
    sqlite_claim_store() : plain_claim_store(words) {}

    table_shape look_up(connection& inside, const qualified_name& table) const override {
        const std::string schema = table.schema.empty() ? "main" : table.schema;
        table_shape found;
        if (inside.execute(schema_sql, {schema}).rows.empty()) return found;
        std::string rowid_column;
        int key_columns = 0;
        for (const row& each : inside.execute(columns_sql, {table.name, schema}).rows) {
            constexpr std::int64_t first_generated = 2;  // virtual; 3 is stored
            column_shape column;
            column.name = each.text(0);
            column.type = each.text(1);
            column.kind = kind_of(column.type);
            column.is_nullable = each.integer(2) == 0;
            column.is_generated = each.integer(4) >= first_generated;
            if (each.integer(3) > 0) ++key_columns;
            if (each.integer(3) > 0 && column.type == "INTEGER") rowid_column = column.name;
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
            index.name = each.text(0);
            index.is_unique = each.integer(1) == 1;
            index.is_partial = each.integer(2) == 1;
            index.is_primary = each.text(3) == "pk";
            for (const row& part : inside.execute(parts_sql, {index.name, schema}).rows) {
                const std::string name = part.is_null(0) ? rowid_column : part.text(0);
                index.parts.push_back({name, part.integer(1) == 1});
                if (part.integer(2) == 1) ++index.own_parts;
            }
            found.indexes.push_back(std::move(index));
        }
        return found;
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
        asking.table(mapping.table).sql(" AS t SET ").set_claimed(mapping, as_read).sql(" WHERE ");
        asking.key_is(mapping.key, as_read.key).sql(" AND ").name(mapping.version).sql(" = ");
        asking.put(as_read.version).sql(" AND ").available(mapping);
        return changed_one(inside, asking, mapping);
    }

    bool change(
        connection& inside,
        const versioned_mapping& mapping,
        const versioned_row& at,
        claim_change what,
        const assignments& to,
        bool /*is_referable*/
    ) const override {
        claim_statement asking = begin("UPDATE ");
        asking.table(mapping.table).sql(" AS t SET ").set_changed(mapping, at, what, to);
        asking.sql(" WHERE ").still_is(mapping, at);
        return changed_one(inside, asking, mapping);
    }

    bool may_be_locked(connection&, const versioned_mapping&, const versioned_row&) const override {
        return false;
    }

    // SQLite takes expressions no deeper than 1000: many keys are asked for in parts. Nobody else
    // can change anything between them.
    std::vector<claimed_row> lock(connection& inside, const row_request& wanted) const override {
        constexpr std::size_t keys_max = 200;
        std::vector<claimed_row> all;
        std::size_t first = 0;
        do {
            row_request part = wanted;
            const auto begin = wanted.keys.begin() + static_cast<std::ptrdiff_t>(first);
            const auto left = wanted.keys.size() - first;
            part.keys.assign(begin, begin + static_cast<std::ptrdiff_t>(std::min(keys_max, left)));
            first += part.keys.size();
            const int limit = wanted.limit - static_cast<int>(all.size());
            auto rows =
                rows_of(rows_text(part).sql(" LIMIT ").put(limit).run(inside), wanted.mapping);
            std::move(rows.begin(), rows.end(), std::back_inserter(all));
        } while (first < wanted.keys.size());
        return all;
    }

private:
    // What triggers changed is counted by the connection, and not by changes().
    static bool changed_one(
        connection& inside, const claim_statement& asking, const versioned_mapping& mapping
    ) {
        if (asking.run(inside).affected_rows == 0) return false;
        return is_one(inside.execute("SELECT changes()").rows.at(0).integer(0), mapping);
    }
};

}  // namespace

std::unique_ptr<claim_store> make_claim_store() {
    return std::make_unique<sqlite_claim_store>();
}

}  // namespace leasehold::sqlite_dialect
