// Tables of the user's own as PostgreSQL's catalogue describes them, and tests for different values
// that a column compares as equal.
#include "claims/postgres/table_catalogue.hpp"

#include <sstream>

#include "leasehold/error.hpp"
#include "sql/row_columns.hpp"

namespace leasehold::postgres_dialect {
namespace {

// $1 the table's name, $2 its schema or ''. Reads rows of the catalogue, because to_regclass()
// fails for a schema that the user lacks the right to use; pg_table_is_visible() leaves such a
// schema out. A locking clause needs the right to UPDATE some column, no matter which.
constexpr std::string_view table_sql = R"sql(
SELECT c.oid::bigint AS id,
       coalesce(has_schema_privilege(n.oid, 'USAGE'), false) AS may_be_reached,
       coalesce(has_any_column_privilege(c.oid, 'UPDATE'), false) AS may_be_locked
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
SELECT a.attname::text AS name, format_type(a.atttypid, a.atttypmod) AS type, l.is_not_null,
       CASE WHEN b.typname IN ('int2', 'int4', 'int8') THEN 'integer'
            WHEN b.typname IN ('numeric', 'float4', 'float8') THEN 'number'
            WHEN b.typcategory = 'S' THEN 'text'
            WHEN b.typname = 'bytea' THEN 'bytes'
            WHEN b.typname = 'timestamptz' THEN 'instant'
            WHEN b.typname = 'timestamp' THEN 'utc'
            WHEN b.typname = 'bool' THEN 'boolean'
            ELSE 'other' END AS kind,
       CASE WHEN c.relkind NOT IN ('r', 'p') THEN 'it is not a table'
            WHEN c.relkind = 'r' AND EXISTS (SELECT 1 FROM pg_inherits h WHERE h.inhparent = c.oid)
            THEN 'other tables inherit from it, and no key is unique over them all'
            ELSE '' END AS unfit,
       a.attgenerated <> '' OR a.attidentity = 'a' AS is_generated,
       EXISTS (SELECT 1
                 FROM part
                 JOIN pg_partitioned_table p ON p.partrelid = part.id
                 JOIN pg_attribute k ON k.attrelid = part.id AND k.attnum = ANY (p.partattrs)
                WHERE k.attname = a.attname) AS is_partition_key,
       EXISTS (SELECT 1
                 FROM part
                 JOIN pg_index i ON i.indrelid = part.id AND i.indisunique
                  AND i.indpred IS NULL AND i.indexprs IS NULL
                 JOIN pg_attribute k ON k.attrelid = part.id
                  AND k.attnum = ANY ((i.indkey::int2[])[0:i.indnkeyatts - 1])
                WHERE k.attname = a.attname) AS is_referable,
       CASE WHEN b.typname = 'int2' THEN 16
            WHEN b.typname IN ('int4', 'float4') THEN 32
            ELSE 64 END AS bits,
       CASE WHEN b.typname IN ('varchar', 'bpchar') AND l.modifier > 4
            THEN l.modifier - 4 ELSE 0 END AS max_length,
       CASE WHEN b.typname IN ('timestamp', 'timestamptz') AND l.modifier >= 0
            THEN l.modifier ELSE 6 END AS fraction_digits,
       (SELECT coalesce(string_agg(n.enumlabel || chr(10), ''), '')
          FROM pg_enum n
         WHERE n.enumtypid = b.oid) AS labels,
       coalesce(has_column_privilege(c.oid, a.attnum, 'SELECT'), false) AS may_be_read,
       coalesce(has_column_privilege(c.oid, a.attnum, 'UPDATE'), false) AS may_be_changed,
       b.typname::text AS word,
       CASE WHEN b.typname = 'numeric' AND l.modifier >= 4 THEN l.modifier - 4 ELSE 0 END AS digits,
       coalesce(e.typtype, b.typtype) <> 'b'
       OR EXISTS (SELECT 1
                    FROM pg_opclass o
                    JOIN pg_am m ON m.oid = o.opcmethod AND m.amname = 'btree'
                   WHERE o.opcdefault
                     AND (o.opcintype = coalesce(e.oid, b.oid)
                          OR EXISTS (SELECT 1 FROM pg_cast k
                                      WHERE k.castsource = coalesce(e.oid, b.oid)
                                        AND k.casttarget = o.opcintype
                                        AND k.castmethod = 'b' AND k.castcontext = 'i')))
       AS is_comparable,
       CASE WHEN b.typarray <> 0 AND b.typcategory <> 'A'
            THEN quote_ident(m.nspname) || '.' || quote_ident(b.typname) ELSE '' END AS element_type
  FROM layer l
  JOIN pg_type b ON b.oid = l.type AND b.typtype <> 'd'
  JOIN pg_namespace m ON m.oid = b.typnamespace
  LEFT JOIN pg_type e ON b.typcategory = 'A' AND e.oid = b.typelem
  JOIN pg_attribute a ON a.attrelid = $1::bigint::oid AND a.attnum = l.attnum
  JOIN pg_class c ON c.oid = a.attrelid
 ORDER BY a.attnum)sql";

// One row per part of each usable index.
constexpr std::string_view indexes_sql = R"sql(
SELECT i.indexrelid::regclass::text AS name, i.indisunique AS is_unique,
       i.indpred IS NOT NULL AS is_partial, a.attname::text AS column_name,
       (i.indoption[n.n - 1] & 1)::bigint AS is_descending, NOT i.indimmediate AS is_deferrable
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
    column.name = from.text("name");
    column.type = from.text("type");
    column.is_nullable = from.integer("is_not_null") == 0;
    column.kind = kind_of(from.text("kind"));
    column.is_generated = from.integer("is_generated") == 1;
    column.is_partition_key = from.integer("is_partition_key") == 1;
    column.is_referable = from.integer("is_referable") == 1;
    column.bits = static_cast<int>(from.integer("bits"));
    column.max_length = from.integer("max_length");
    column.fraction_digits = static_cast<int>(from.integer("fraction_digits"));
    column.labels = lines_of(from.text("labels"));
    column.may_be_read = from.integer("may_be_read") == 1;
    column.may_be_changed = from.integer("may_be_changed") == 1;
    column.is_date = from.text("word") == "date";
    column.is_uuid = from.text("word") == "uuid";
    const std::int64_t digits = from.integer("digits");
    column.precision = static_cast<int>(digits >> 16);
    // Since 15 the scale may be negative, in 11 bits.
    column.scale = static_cast<int>(((digits & 0x7ff) ^ 0x400) - 0x400);
    column.is_comparable = from.integer("is_comparable") == 1;
    column.element_type = from.text("element_type");
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
    "SELECT format_type(b.oid, l.modifier) AS base, format_type(h.atttypid, h.atttypmod) AS type,"
    "       coalesce((SELECT quote_ident(s.nspname) || '.' || quote_ident(o.collname)"
    "                   FROM pg_collation o"
    "                   JOIN pg_namespace s ON s.oid = o.collnamespace"
    "                  WHERE o.oid = h.attcollation), '') AS collation_name"
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
    const value id = named.rows[0].at("id");
    found.may_be_reached = named.rows[0].integer("may_be_reached") == 1;
    found.may_be_locked = named.rows[0].integer("may_be_locked") == 1;
    for (const row& each : inside.execute(columns_sql, {id}).rows) {
        found.columns.push_back(column_of(each));
        found.unfit = each.text("unfit");
    }
    std::string last;
    for (const row& each : inside.execute(indexes_sql, {id}).rows) {
        if (found.indexes.empty() || each.text("name") != last) {
            last = each.text("name");
            index_shape& next = found.indexes.emplace_back();
            next.name = last;
            next.is_unique = each.integer("is_unique") == 1;
            next.is_partial = each.integer("is_partial") == 1;
            next.is_deferrable = each.integer("is_deferrable") == 1;
        }
        index_shape& index = found.indexes.back();
        const bool is_descending = each.integer("is_descending") == 1;
        index.parts.push_back({text_or_empty(each, "column_name"), is_descending});
        ++index.own_parts;
    }
    if (found.columns.empty()) return found;
    const result finer = inside.execute(finer_sql, {table.name, table.schema});
    for (const std::string& each : only_texts(finer)) {
        for (index_shape& index : found.indexes) {
            if (index.name == each) index.is_finer = true;
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
    const std::string& collation = shape.text("collation_name");
    std::string as_column = " AS " + shape.text("base") + ")";
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
            "column " + column + " is " + shape.text("type") +
                " and cannot hold what the mapping compares it with: " + failure.what(),
            {failure.sqlstate(), failure.native_code(), failure.server_message(), false}
        );
    }
    if (is_guarded) inside.execute("RELEASE SAVEPOINT leasehold_equality");
    if (!is_one) return std::nullopt;
    return shape.text("type") + (collation.empty() ? "" : " with collation " + collation);
}

}  // namespace leasehold::postgres_dialect
