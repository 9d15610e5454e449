#include "dialect/installations.hpp"

#include <algorithm>

namespace leasehold {
namespace {

// Each answers with schema, prefix, and whether it is ours; a table of records counts where the
// tables of the first migration stand beside it. Read only, the catalogue's own snapshot; it sees
// what this user may see.

// $1 our prefix, $2 our schema: empty where the search path decides.
constexpr std::string_view postgres_sql = R"sql(
SELECT n.nspname::text, left(c.relname::text, -length('migration')),
       (left(c.relname::text, -length('migration')) = lower($1::text)
        AND CASE WHEN $2::text = '' THEN pg_table_is_visible(c.oid)
                 ELSE n.nspname::text = $2::text END)::int
  FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
 WHERE c.relkind IN ('r', 'p') AND c.relname::text LIKE '%migration'
   AND n.nspname::text NOT LIKE 'pg\_temp\_%'
   AND pg_catalog.has_schema_privilege(n.oid, 'USAGE')
   AND 4 = (SELECT count(*) FROM pg_catalog.pg_attribute a
             WHERE a.attrelid = c.oid AND NOT a.attisdropped
               AND a.attname::text IN ('version', 'name', 'checksum', 'finished'))
   AND 2 = (SELECT count(*) FROM pg_catalog.pg_class o
             WHERE o.relnamespace = c.relnamespace AND o.relkind IN ('r', 'p')
               AND o.relname::text IN (left(c.relname::text, -length('migration')) || 'lock',
                                       left(c.relname::text, -length('migration')) || 'session'))
 ORDER BY 1, 2)sql";

// ? our prefix. Of this database alone: another one of the same server is another database. The
// server's own comparison decides what is ours, as it decides which table a statement means.
constexpr std::string_view mysql_sql = R"sql(
SELECT '', LEFT(t.table_name, CHAR_LENGTH(t.table_name) - CHAR_LENGTH('migration')),
       IF(@@lower_case_table_names = 0,
          BINARY t.table_name = BINARY CONCAT(?, 'migration'),
          LOWER(t.table_name) = LOWER(CONCAT(?, 'migration')))
  FROM information_schema.tables t
 WHERE t.table_schema = DATABASE() AND t.table_name LIKE '%migration'
   AND 4 = (SELECT COUNT(*) FROM information_schema.columns c
             WHERE c.table_schema = t.table_schema AND c.table_name = t.table_name
               AND c.column_name IN ('version', 'name', 'checksum', 'finished'))
   AND 2 = (SELECT COUNT(*) FROM information_schema.tables o
             WHERE o.table_schema = t.table_schema AND o.table_name IN
                   (CONCAT(LEFT(t.table_name, CHAR_LENGTH(t.table_name) - 9), 'lock'),
                    CONCAT(LEFT(t.table_name, CHAR_LENGTH(t.table_name) - 9), 'session')))
 ORDER BY 2)sql";

// ? our prefix. Names are compared as SQLite does, whatever their case.
constexpr std::string_view sqlite_sql = R"sql(
SELECT '', substr(t.name, 1, length(t.name) - length('migration')),
       t.name = ? || 'migration' COLLATE NOCASE
  FROM sqlite_master t
 WHERE t.type = 'table' AND t.name LIKE '%migration'
   AND 4 = (SELECT count(*) FROM pragma_table_info(t.name) c
             WHERE c.name IN ('version', 'name', 'checksum', 'finished'))
   AND 2 = (SELECT count(*) FROM sqlite_master o
             WHERE o.type = 'table' AND lower(o.name) IN
                   (lower(substr(t.name, 1, length(t.name) - length('migration')) || 'lock'),
                    lower(substr(t.name, 1, length(t.name) - length('migration')) || 'session')))
 ORDER BY 2)sql";

result ask(connection& on, const table_names& ours) {
    switch (on.server().engine) {
        case engine::postgres:
            return on.execute(postgres_sql, {ours.prefix, ours.schema});
        case engine::mysql:
        case engine::mariadb:
            return on.execute(mysql_sql, {ours.prefix, ours.prefix});
        case engine::sqlite:
            return on.execute(sqlite_sql, {ours.prefix});
        case engine::memory:
            break;
    }
    return {};
}

}  // namespace

std::vector<installation> installations_in(connection& on, const table_names& ours) {
    std::vector<installation> found;
    for (const row& each : ask(on, ours).rows) {
        found.push_back({{each.text(1), each.text(0)}, each.integer(2) == 1});
    }
    return found;
}

}  // namespace leasehold
