// What a column takes for one value on PostgreSQL: citext and collations that are not deterministic
// do for text, and types do for what they round, pad or write in several ways.
#include "store/equality_store.hpp"
#include "dialect/dialects.hpp"
#include "leasehold/error.hpp"

namespace leasehold {
namespace {

// $1 the table's name, $2 its schema or ''. As claims find it.
#define LEASEHOLD_TABLE_SQL                                                              \
    "pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace AND c.relname = $1::name " \
    " AND CASE $2::text WHEN '' THEN pg_table_is_visible(c.oid) "                        \
    "                   WHEN 'pg_temp' THEN n.oid = pg_my_temp_schema() "                \
    "                   ELSE n.nspname = $2::text::name END "

// $3 the column's name. A domain is what it was made of; the collation is the column's.
constexpr std::string_view column_sql =
    "WITH RECURSIVE here AS ("
    "    SELECT a.atttypid, a.atttypmod, a.attcollation"
    "      FROM " LEASEHOLD_TABLE_SQL
    "      JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = $3::name"
    "       AND a.attnum > 0 AND NOT a.attisdropped"
    "), layer AS ("
    "    SELECT h.atttypid AS type, h.atttypmod AS modifier FROM here h"
    "     UNION ALL"
    "    SELECT t.typbasetype, t.typtypmod"
    "      FROM layer l"
    "      JOIN pg_type t ON t.oid = l.type AND t.typtype = 'd'"
    ") "
    "SELECT format_type(b.oid, l.modifier), format_type(h.atttypid, h.atttypmod),"
    "       coalesce((SELECT quote_ident(s.nspname) || '.' || quote_ident(o.collname)"
    "                   FROM pg_collation o"
    "                   JOIN pg_namespace s ON s.oid = o.collnamespace"
    "                  WHERE o.oid = h.attcollation), '')"
    "  FROM here h CROSS JOIN layer l"
    "  JOIN pg_type b ON b.oid = l.type AND b.typtype <> 'd'";

// By bytes any collation tells values apart, but for those that are not deterministic: there the
// index must have the column's own.
constexpr std::string_view finer_sql =
    "SELECT DISTINCT i.indexrelid::regclass::text"
    "  FROM " LEASEHOLD_TABLE_SQL
    "  JOIN pg_index i ON i.indrelid = c.oid AND i.indisunique"
    "  CROSS JOIN LATERAL generate_series(1, i.indnkeyatts) AS k (k)"
    "  JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = i.indkey[k.k - 1]"
    "  JOIN pg_collation o ON o.oid = a.attcollation AND NOT o.collisdeterministic"
    "   AND o.oid <> i.indcollation[k.k - 1]";

#undef LEASEHOLD_TABLE_SQL

class postgres_equality_store final : public equality_store {
public:
    // In a savepoint, since what is no value of the type is an error here.
    std::optional<std::string> taken_for_one(
        connection& inside,
        const qualified_name& table,
        const std::string& column,
        const value& one,
        const value& other
    ) const override {
        const result found = inside.execute(column_sql, {table.name, table.schema, column});
        const row& shape = found.rows.at(0);
        const std::string& collation = shape.text(2);
        std::string as_column = " AS " + shape.text(0) + ")";
        if (!collation.empty()) as_column += " COLLATE " + collation;
        const std::string asking = "SELECT 1 FROM (SELECT CAST($1" + as_column +
                                   " AS c) AS x, (SELECT CAST($2" + as_column +
                                   " AS c) AS y WHERE x.c = $3 OR y.c = $4 OR x.c = y.c";
        const bool is_guarded = inside.state() == connection_state::in_transaction;
        if (is_guarded) inside.execute("SAVEPOINT leasehold_equality");
        bool is_one = false;
        try {
            is_one = !inside.execute(asking, {one, other, other, one}).rows.empty();
        } catch (const error& failure) {
            if (inside.state() == connection_state::failed) {
                inside.execute("ROLLBACK TO SAVEPOINT leasehold_equality");
                inside.execute("RELEASE SAVEPOINT leasehold_equality");
            }
            if (failure.is_transient()) throw;
            throw error(
                errc::schema_mismatch,
                "column " + column + " is " + shape.text(1) +
                    " and cannot hold what the mapping compares it with: " + failure.what(),
                {failure.sqlstate(), failure.native_code(), failure.server_message(), false}
            );
        }
        if (is_guarded) inside.execute("RELEASE SAVEPOINT leasehold_equality");
        if (!is_one) return std::nullopt;
        return shape.text(1) + (collation.empty() ? "" : " with collation " + collation);
    }

    std::vector<std::string> finer_indexes(connection& inside, const qualified_name& table)
        const override {
        std::vector<std::string> names;
        for (const row& each : inside.execute(finer_sql, {table.name, table.schema}).rows) {
            names.push_back(each.text(0));
        }
        return names;
    }
};

}  // namespace

std::unique_ptr<equality_store> make_postgres_equality_store() {
    return std::make_unique<postgres_equality_store>();
}

}  // namespace leasehold
