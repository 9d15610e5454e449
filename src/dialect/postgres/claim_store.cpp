// Claims on the user's tables on PostgreSQL, at READ COMMITTED.
//
// Nothing here may raise an error because of others, since an error ends the caller's transaction:
// no NOWAIT (55P03), no lock_timeout (55P03, and it is a setting), no wait that could close a
// circle (40P01). So each row is locked SKIP LOCKED in a materialised CTE, by its key, and changed
// in the same statement. LockRows tests the WHERE again on the newest version of a row that had
// changed since the snapshot; the UPDATE then finds a row that we hold, or none.
// Materialised, because the planner may otherwise run the locking query once per row it is joined
// with, and claim them all.
#include "dialect/claim_text.hpp"
#include "dialect/postgres/stores.hpp"
#include "dialect/sql_text.hpp"
#include "leasehold/error.hpp"

namespace leasehold::postgres_dialect {
namespace {

// The clock at the moment of use, not of the transaction.
std::string now(time_kind times) {
    switch (times) {
        case time_kind::instant:
            return "clock_timestamp()";
        case time_kind::utc:
            return "(clock_timestamp() AT TIME ZONE 'UTC')";
        case time_kind::microseconds:
            break;
    }
    return "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint";
}

std::string later(time_kind times, const std::string& place) {
    if (times == time_kind::microseconds) return now(times) + " + " + place + "::bigint";
    return now(times) + " + " + place + "::bigint * interval '1 microsecond'";
}

constexpr claim_words words{
    .quote = '"',
    .has_numbered_places = true,
    .set_prefix = "",
    .now = now,
    .later = later,
    .forces_indexes = false,
    .integer_type = "bigint",
    .number_type = "numeric",
    .text_type = "text",
    .bytes_type = "bytea",
    .instant_type = "timestamptz",
    .utc_type = "timestamp",
};

// $1 the table's name, quoted. Of domains the type below.
constexpr std::string_view columns_sql = R"sql(
SELECT a.attname::text, format_type(a.atttypid, a.atttypmod), a.attnotnull,
       CASE WHEN b.typname IN ('int2', 'int4', 'int8') THEN 'integer'
            WHEN b.typcategory = 'N' THEN 'number'
            WHEN b.typcategory = 'S' THEN 'text'
            WHEN b.typname = 'bytea' THEN 'bytes'
            WHEN b.typname = 'timestamptz' THEN 'instant'
            WHEN b.typname = 'timestamp' THEN 'utc'
            ELSE 'other' END,
       c.relkind IN ('r', 'p')
  FROM pg_attribute a
  JOIN pg_class c ON c.oid = a.attrelid
  JOIN pg_type t ON t.oid = a.atttypid
  JOIN pg_type b ON b.oid = CASE t.typtype WHEN 'd' THEN t.typbasetype ELSE t.oid END
 WHERE a.attrelid = to_regclass($1) AND a.attnum > 0 AND NOT a.attisdropped
 ORDER BY a.attnum)sql";

// One row per part of each index that is in use.
constexpr std::string_view indexes_sql = R"sql(
SELECT i.indexrelid::regclass::text, i.indisunique, i.indpred IS NOT NULL, a.attname::text,
       (i.indoption[n.n - 1] & 1)::bigint
  FROM pg_index i
  JOIN pg_class c ON c.oid = i.indexrelid
  JOIN pg_am m ON m.oid = c.relam AND m.amname = 'btree'
  CROSS JOIN LATERAL generate_series(1, i.indnkeyatts) AS n (n)
  LEFT JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[n.n - 1]
 WHERE i.indrelid = to_regclass($1) AND i.indisvalid
 ORDER BY i.indexrelid, n.n)sql";

column_kind kind_of(const std::string& word) {
    if (word == "integer") return column_kind::integer;
    if (word == "number") return column_kind::number;
    if (word == "text") return column_kind::text;
    if (word == "bytes") return column_kind::bytes;
    if (word == "instant") return column_kind::instant;
    if (word == "utc") return column_kind::utc;
    return column_kind::other;
}

std::string_view strength_of(lock_strength strength) {
    switch (strength) {
        case lock_strength::update:
            return " FOR UPDATE OF t SKIP LOCKED";
        case lock_strength::no_key_update:
            return " FOR NO KEY UPDATE OF t SKIP LOCKED";
        case lock_strength::share:
            return " FOR SHARE OF t SKIP LOCKED";
        case lock_strength::key_share:
            return " FOR KEY SHARE OF t SKIP LOCKED";
    }
    return " FOR UPDATE OF t SKIP LOCKED";
}

class postgres_claim_store final : public plain_claim_store {
public:
    postgres_claim_store() : plain_claim_store(words) {}

    bool is_same_column(const std::string& left, const std::string& right) const override {
        return left == right;
    }
    // bigint = text is an error here, and not a false.
    bool is_typed() const override { return true; }

    table_shape look_up(connection& inside, const qualified_name& table) const override {
        const std::string name = begin("").table(table).text();
        table_shape found;
        for (const row& each : inside.execute(columns_sql, {name}).rows) {
            found.columns.push_back(
                {each.text(0), kind_of(each.text(3)), each.text(1), each.integer(2) == 0}
            );
            if (each.integer(4) == 0) found.unfit = "it is not a table";
        }
        std::string last;
        for (const row& each : inside.execute(indexes_sql, {name}).rows) {
            if (found.indexes.empty() || each.text(0) != last) {
                last = each.text(0);
                found.indexes.push_back({last, {}, 0, each.integer(1) == 1, each.integer(2) == 1});
            }
            index_shape& index = found.indexes.back();
            index.parts.push_back({each.is_null(3) ? "" : each.text(3), each.integer(4) == 1});
            ++index.own_parts;
        }
        return found;
    }

    bool enter(connection& inside, const qualified_name&, claim_use) const override {
        const row level =
            inside.execute("SELECT current_setting('transaction_isolation')").rows.at(0);
        if (level.text(0) == "read committed") return true;
        throw error(
            errc::wrong_transaction,
            "a claim needs READ COMMITTED and this transaction is at " + level.text(0) +
                ", where a row changed by somebody else would abort it: begin it with BEGIN "
                "ISOLATION LEVEL READ COMMITTED"
        );
    }

    // FOR NO KEY UPDATE is what the UPDATE itself will take; rows that refer to this one can be
    // inserted meanwhile.
    bool claim(connection& inside, const versioned_mapping& mapping, const versioned_row& as_read)
        const override {
        claim_statement asking = begin("WITH mine AS MATERIALIZED (SELECT ");
        asking.key_as(mapping.key).from(mapping.table).sql(" WHERE ");
        asking.key_is(mapping.key, as_read.key).sql(" AND ").name(mapping.version).sql(" = ");
        asking.put(as_read.version).sql(" AND ").available(mapping);
        asking.sql(" FOR NO KEY UPDATE OF t SKIP LOCKED) UPDATE ").table(mapping.table);
        asking.sql(" AS t SET ").set_claimed(mapping).sql(" FROM mine WHERE ");
        asking.key_is_mine(mapping.key).sql(" AND ").name(mapping.version).sql(" = ");
        return asking.put(as_read.version).run(inside).affected_rows == 1;
    }

    bool change(
        connection& inside,
        const versioned_mapping& mapping,
        const versioned_row& at,
        claim_change what,
        const assignments& to
    ) const override {
        claim_statement asking = begin("WITH mine AS MATERIALIZED (SELECT ");
        asking.key_as(mapping.key).from(mapping.table).sql(" WHERE ").still_is(mapping, at);
        asking.sql(" FOR NO KEY UPDATE OF t SKIP LOCKED) UPDATE ").table(mapping.table);
        asking.sql(" AS t SET ").set_changed(mapping, at, what, to).sql(" FROM mine WHERE ");
        asking.key_is_mine(mapping.key).sql(" AND ").name(mapping.version).sql(" = ");
        return asking.put(at.version).run(inside).affected_rows == 1;
    }

    // A statement of its own is a snapshot of its own.
    bool may_be_locked(
        connection& inside, const versioned_mapping& mapping, const versioned_row& at
    ) const override {
        claim_statement asking = begin("SELECT 1");
        asking.from(mapping.table).sql(" WHERE ").still_is(mapping, at);
        return !asking.run(inside).rows.empty();
    }

    // A top-level SELECT: its LIMIT stands above the locking, so no plan returns more rows.
    std::vector<claimed_row> lock(connection& inside, const row_request& wanted) const override {
        claim_statement asking = rows_text(wanted);
        asking.sql(" LIMIT ").put(wanted.limit).sql(strength_of(wanted.mapping.strength));
        return rows_of(asking.run(inside), wanted.mapping);
    }

    // Rolling back to a savepoint gives back the row locks taken since.
    void begin_try(connection& inside) const override {
        inside.execute("SAVEPOINT leasehold_claim");
    }
    void end_try(connection& inside, bool keep) const override {
        if (!keep) inside.execute("ROLLBACK TO SAVEPOINT leasehold_claim");
        inside.execute("RELEASE SAVEPOINT leasehold_claim");
    }
};

}  // namespace

std::unique_ptr<claim_store> make_claim_store() {
    return std::make_unique<postgres_claim_store>();
}

}  // namespace leasehold::postgres_dialect
