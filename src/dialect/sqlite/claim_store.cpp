// Claims on the user's tables on SQLite: one writer, so whatever is read under the write lock is
// true until the commit, and no row is ever locked by somebody else.
//
// Names in `…`: what is in "…" and is no column would be taken for a string.
#include "dialect/claim_text.hpp"
#include "dialect/sqlite/stores.hpp"
#include "leasehold/error.hpp"

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

constexpr claim_words words{
    .quote = '`',
    .has_numbered_places = false,
    .set_prefix = "",
    .now = now,
    .later = later,
    .forces_indexes = false,
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
    "SELECT name, upper(type), \"notnull\", pk FROM pragma_table_info(?1, ?2) ORDER BY cid";
constexpr std::string_view indexes_sql =
    "SELECT name, \"unique\", partial FROM pragma_index_list(?1, ?2) ORDER BY seq";
// Key parts, then the rowid or primary key that SQLite appends; the rowid has no name.
constexpr std::string_view parts_sql =
    "SELECT name, \"desc\", \"key\" FROM pragma_index_xinfo(?1, ?2) ORDER BY seqno";

// By the rules of column affinity, in their order (sqlite.org/datatype3.html, section 3.1).
column_kind kind_of(const std::string& type) {
    const auto has = [&](const char* word) { return type.find(word) != std::string::npos; };
    if (has("INT")) return column_kind::integer;
    if (has("CHAR") || has("CLOB") || has("TEXT")) return column_kind::text;
    if (has("BLOB")) return column_kind::bytes;
    if (has("REAL") || has("FLOA") || has("DOUB")) return column_kind::number;
    return column_kind::other;
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
            const std::string& type = each.text(1);
            const bool is_key = each.integer(3) > 0;
            if (is_key) ++key_columns;
            if (is_key && type == "INTEGER") rowid_column = each.text(0);
            const bool is_nullable = each.integer(2) == 0 && !is_key;
            found.columns.push_back({each.text(0), kind_of(type), type, is_nullable});
        }
        if (key_columns != 1) rowid_column.clear();
        if (!rowid_column.empty()) {
            found.indexes.push_back({"", {{rowid_column, false}}, 1, true, false});
        }
        for (const row& each : inside.execute(indexes_sql, {table.name, schema}).rows) {
            index_shape index{each.text(0), {}, 0, each.integer(1) == 1, each.integer(2) == 1};
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

    bool claim(connection& inside, const versioned_mapping& mapping, const versioned_row& as_read)
        const override {
        claim_statement asking = begin("UPDATE ");
        asking.table(mapping.table).sql(" AS t SET ").set_claimed(mapping).sql(" WHERE ");
        asking.key_is(mapping.key, as_read.key).sql(" AND ").name(mapping.version).sql(" = ");
        asking.put(as_read.version).sql(" AND ").available(mapping);
        return changed_one(inside, asking);
    }

    bool change(
        connection& inside,
        const versioned_mapping& mapping,
        const versioned_row& at,
        claim_change what,
        const assignments& to
    ) const override {
        claim_statement asking = begin("UPDATE ");
        asking.table(mapping.table).sql(" AS t SET ").set_changed(mapping, at, what, to);
        asking.sql(" WHERE ").still_is(mapping, at);
        return changed_one(inside, asking);
    }

    bool may_be_locked(connection&, const versioned_mapping&, const versioned_row&) const override {
        return false;
    }

    std::vector<claimed_row> lock(connection& inside, const row_request& wanted) const override {
        return rows_of(
            rows_text(wanted).sql(" LIMIT ").put(wanted.limit).run(inside), wanted.mapping
        );
    }

private:
    // Triggers count among the affected rows here: at least one is ours, or none was changed.
    static bool changed_one(connection& inside, const claim_statement& asking) {
        return asking.run(inside).affected_rows >= 1;
    }
};

}  // namespace

std::unique_ptr<claim_store> make_claim_store() {
    return std::make_unique<sqlite_claim_store>();
}

}  // namespace leasehold::sqlite_dialect
