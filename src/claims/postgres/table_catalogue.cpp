// Tables of the user's own as PostgreSQL's catalogue describes them, and tests for different values
// that a column compares as equal.
#include "claims/postgres/table_catalogue.hpp"

#include <sstream>

#include "leasehold/error.hpp"

namespace leasehold::postgres_dialect {
namespace {

// $1 the table's name, $2 its schema or ''. Reads rows of the catalogue, because to_regclass()
// fails for a schema that the user lacks the right to use; pg_table_is_visible() leaves such a
// schema out. A locking clause needs the right to UPDATE some column, no matter which.
constexpr std::string_view table_sql = R"sql(
SELECT c.oid::bigint, coalesce(has_schema_privilege(n.oid, 'USAGE'), false),
       coalesce(has_any_column_privilege(c.oid, 'UPDATE'), false)
  FROM pg_class c
  JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE c.relname = $1::name
   AND CASE $2::text WHEN '' THEN pg_table_is_visible(c.oid)
                     WHEN 'pg_temp' THEN n.oid = pg_my_temp_schema()
                     ELSE n.nspname = $2::text::name END)sql";

// $1 the table's oid. A domain counts as its base type, with the domain's own additions. `part`:
// the table, its partitions, and the tables it is a partition of.
constexpr std::string_view columns_sql = R"sql(
WITH RECURSIVE layer AS (
    SELECT a.attnum, a.atttypid AS type, a.atttypmod AS modifier, a.attnotnull AS is_not_null
      FROM pg_attribute a
     WHERE a.attrelid = $1::bigint::oid AND a.attnum > 0 AND NOT a.attisdropped
    UNION ALL
    SELECT l.attnum, t.typbasetype, t.typtypmod, l.is_not_null OR t.typnotnull
      FROM layer l
      JOIN pg_type t ON t.oid = l.type AND t.typtype = 'd'
), part AS (
    SELECT $1::bigint::oid AS id
     UNION SELECT relid::oid FROM pg_partition_tree($1::bigint::oid::regclass)
     UNION SELECT relid::oid FROM pg_partition_ancestors($1::bigint::oid::regclass)
)
SELECT a.attname::text, format_type(a.atttypid, a.atttypmod), l.is_not_null,
       CASE WHEN b.typname IN ('int2', 'int4', 'int8') THEN 'integer'
            WHEN b.typname IN ('numeric', 'float4', 'float8') THEN 'number'
            WHEN b.typcategory = 'S' THEN 'text'
            WHEN b.typname = 'bytea' THEN 'bytes'
            WHEN b.typname = 'timestamptz' THEN 'instant'
            WHEN b.typname = 'timestamp' THEN 'utc'
            WHEN b.typname = 'bool' THEN 'boolean'
            ELSE 'other' END,
       CASE WHEN c.relkind NOT IN ('r', 'p') THEN 'it is not a table'
            WHEN c.relkind = 'r' AND EXISTS (SELECT 1 FROM pg_inherits h WHERE h.inhparent = c.oid)
            THEN 'other tables inherit from it, and no key is unique over them all'
            ELSE '' END,
       a.attgenerated <> '' OR a.attidentity = 'a',
       EXISTS (SELECT 1
                 FROM part
                 JOIN pg_partitioned_table p ON p.partrelid = part.id
                 JOIN pg_attribute k ON k.attrelid = part.id AND k.attnum = ANY (p.partattrs)
                WHERE k.attname = a.attname),
       EXISTS (SELECT 1
                 FROM part
                 JOIN pg_index i ON i.indrelid = part.id AND i.indisunique
                  AND i.indpred IS NULL AND i.indexprs IS NULL
                 JOIN pg_attribute k ON k.attrelid = part.id
                  AND k.attnum = ANY ((i.indkey::int2[])[0:i.indnkeyatts - 1])
                WHERE k.attname = a.attname),
       CASE WHEN b.typname = 'int2' THEN 16
            WHEN b.typname IN ('int4', 'float4') THEN 32
            ELSE 64 END,
       CASE WHEN b.typname IN ('varchar', 'bpchar') AND l.modifier > 4
            THEN l.modifier - 4 ELSE 0 END,
       CASE WHEN b.typname IN ('timestamp', 'timestamptz') AND l.modifier >= 0
            THEN l.modifier ELSE 6 END,
       (SELECT coalesce(string_agg(n.enumlabel || chr(10), ''), '')
          FROM pg_enum n
         WHERE n.enumtypid = b.oid),
       coalesce(has_column_privilege(c.oid, a.attnum, 'SELECT'), false),
       coalesce(has_column_privilege(c.oid, a.attnum, 'UPDATE'), false),
       b.typname::text,
       CASE WHEN b.typname = 'numeric' AND l.modifier >= 4 THEN l.modifier - 4 ELSE 0 END,
       coalesce(e.typtype, b.typtype) <> 'b'
       OR EXISTS (SELECT 1
                    FROM pg_opclass o
                    JOIN pg_am m ON m.oid = o.opcmethod AND m.amname = 'btree'
                   WHERE o.opcdefault
                     AND (o.opcintype = coalesce(e.oid, b.oid)
                          OR EXISTS (SELECT 1 FROM pg_cast k
                                      WHERE k.castsource = coalesce(e.oid, b.oid)
                                        AND k.casttarget = o.opcintype
                                        AND k.castmethod = 'b' AND k.castcontext = 'i'))),
       CASE WHEN b.typarray <> 0 AND b.typcategory <> 'A'
            THEN quote_ident(m.nspname) || '.' || quote_ident(b.typname) ELSE '' END
  FROM layer l
  JOIN pg_type b ON b.oid = l.type AND b.typtype <> 'd'
  JOIN pg_namespace m ON m.oid = b.typnamespace
  LEFT JOIN pg_type e ON b.typcategory = 'A' AND e.oid = b.typelem
  JOIN pg_attribute a ON a.attrelid = $1::bigint::oid AND a.attnum = l.attnum
  JOIN pg_class c ON c.oid = a.attrelid
 ORDER BY a.attnum)sql";

// One row per part of each usable index.
constexpr std::string_view indexes_sql = R"sql(
SELECT i.indexrelid::regclass::text, i.indisunique, i.indpred IS NOT NULL, a.attname::text,
       (i.indoption[n.n - 1] & 1)::bigint, NOT i.indimmediate
  FROM pg_index i
  JOIN pg_class c ON c.oid = i.indexrelid
  JOIN pg_am m ON m.oid = c.relam AND m.amname = 'btree'
  CROSS JOIN LATERAL generate_series(1, i.indnkeyatts) AS n (n)
  LEFT JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[n.n - 1]
 WHERE i.indrelid = $1::bigint::oid AND i.indisvalid
 ORDER BY i.indexrelid, n.n)sql";

column_kind kind_of(const std::string& word) {
    if (word == "integer") return column_kind::integer;
    if (word == "number") return column_kind::number;
    if (word == "text") return column_kind::text;
    if (word == "bytes") return column_kind::bytes;
    if (word == "instant") return column_kind::instant;
    if (word == "utc") return column_kind::utc;
    if (word == "boolean") return column_kind::boolean;
    return column_kind::other;
}

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream from{text};
    for (std::string each; std::getline(from, each);) lines.push_back(each);
    return lines;
}

column_shape column_of(const row& from) {
    column_shape column;
    column.name = from.text(0);
    column.type = from.text(1);
    column.is_nullable = from.integer(2) == 0;
    column.kind = kind_of(from.text(3));
    column.is_generated = from.integer(5) == 1;
    column.is_partition_key = from.integer(6) == 1;
    column.is_referable = from.integer(7) == 1;
    column.bits = static_cast<int>(from.integer(8));
    column.max_length = from.integer(9);
    column.fraction_digits = static_cast<int>(from.integer(10));
    column.labels = lines_of(from.text(11));
    column.may_be_read = from.integer(12) == 1;
    column.may_be_changed = from.integer(13) == 1;
    column.is_date = from.text(14) == "date";
    column.is_uuid = from.text(14) == "uuid";
    const std::int64_t digits = from.integer(15);
    column.precision = static_cast<int>(digits >> 16);
    // Since 15 the scale may be negative, in 11 bits.
    column.scale = static_cast<int>(((digits & 0x7ff) ^ 0x400) - 0x400);
    column.is_comparable = from.integer(16) == 1;
    column.element_type = from.text(17);
    return column;
}

// ------------------------------------------------------------------------- equality of values

// Different values that a column compares as equal: citext and collations that are not
// deterministic do so for text, and types for values that they round, pad or write in several ways.

// $1 the table's name, $2 its schema or ''. Finds the table as claims do.
#define LEASEHOLD_TABLE_SQL                                                              \
    "pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace AND c.relname = $1::name " \
    " AND CASE $2::text WHEN '' THEN pg_table_is_visible(c.oid) "                        \
    "                   WHEN 'pg_temp' THEN n.oid = pg_my_temp_schema() "                \
    "                   ELSE n.nspname = $2::text::name END "

// $3 the column's name. A domain counts as its base type; the collation is the column's.
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

// A deterministic collation tells values apart by their bytes. If the column's is not
// deterministic, the index must have the same collation.
constexpr std::string_view finer_sql =
    "SELECT DISTINCT i.indexrelid::regclass::text"
    "  FROM " LEASEHOLD_TABLE_SQL
    "  JOIN pg_index i ON i.indrelid = c.oid AND i.indisunique"
    "  CROSS JOIN LATERAL generate_series(1, i.indnkeyatts) AS k (k)"
    "  JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = i.indkey[k.k - 1]"
    "  JOIN pg_collation o ON o.oid = a.attcollation AND NOT o.collisdeterministic"
    "   AND o.oid <> i.indcollation[k.k - 1]";

#undef LEASEHOLD_TABLE_SQL

}  // namespace

bool postgres_catalogue::is_same_column(const std::string& left, const std::string& right) const {
    return left == right;
}

// boolean = bigint is an error here, and not a comparison.
value postgres_catalogue::as_sent(const column_shape& column, const value& given) const {
    if (column.kind != column_kind::boolean) return given;
    const auto* number = std::get_if<std::int64_t>(&given.held());
    return number ? value{*number == 0 ? "false" : "true"} : given;
}

std::string postgres_catalogue::change_column_text(
    const qualified_name& table, const column_change& wanted
) const {
    if (wanted.wish == column_wish::add) {
        return plain_table_store::change_column_text(table, wanted);
    }
    claim_statement text = begin("ALTER TABLE ");
    text.table(table).sql(" ALTER COLUMN ").name(wanted.column.name, "");
    if (wanted.wish == column_wish::widen) {
        return text.sql(" TYPE ").sql(type_of(wanted.column.kind)).text();
    }
    const bool is_nullable = wanted.wish == column_wish::allow_null;
    return text.sql(is_nullable ? " DROP NOT NULL" : " SET NOT NULL").text();
}

table_shape postgres_catalogue::look_up(connection& inside, const qualified_name& table) const {
    table_shape found;
    const result named = inside.execute(table_sql, {table.name, table.schema});
    if (named.rows.empty()) return found;
    const value id = named.rows[0].at(0);
    found.may_be_reached = named.rows[0].integer(1) == 1;
    found.may_be_locked = named.rows[0].integer(2) == 1;
    for (const row& each : inside.execute(columns_sql, {id}).rows) {
        found.columns.push_back(column_of(each));
        found.unfit = each.text(4);
    }
    std::string last;
    for (const row& each : inside.execute(indexes_sql, {id}).rows) {
        if (found.indexes.empty() || each.text(0) != last) {
            last = each.text(0);
            index_shape& next = found.indexes.emplace_back();
            next.name = last;
            next.is_unique = each.integer(1) == 1;
            next.is_partial = each.integer(2) == 1;
            next.is_deferrable = each.integer(5) == 1;
        }
        index_shape& index = found.indexes.back();
        index.parts.push_back({each.is_null(3) ? "" : each.text(3), each.integer(4) == 1});
        ++index.own_parts;
    }
    if (found.columns.empty()) return found;
    for (const row& each : inside.execute(finer_sql, {table.name, table.schema}).rows) {
        for (index_shape& index : found.indexes) {
            if (index.name == each.text(0)) index.is_finer = true;
        }
    }
    return found;
}

// Runs in a savepoint, since a value that the type does not have is an error here.
std::optional<std::string> postgres_catalogue::taken_for_one(
    connection& inside,
    const qualified_name& table,
    const std::string& column,
    const value& one,
    const value& other
) const {
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

}  // namespace leasehold::postgres_dialect
