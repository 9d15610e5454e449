-- Finds the tables of leasehold in a database, whatever they are called.
--
-- The answer has the schema, the prefix, and whether these tables are ours. A table of records
-- counts if the tables of the first migration stand beside it. The statement reads the catalogue
-- only, and finds the tables that this user may see.

-- $1 our prefix, $2 our schema: empty where the search path decides.
-- name: find
-- gives: schema prefix is_ours
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
 ORDER BY 1, 2;
