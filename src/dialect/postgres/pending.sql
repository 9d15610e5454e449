-- Grants that stand or fall with a transaction of the caller's, on PostgreSQL.

-- $1 the schema or ''. What would abort the caller's transaction if it were only tried. Finds the
-- table as the move will, by the search_path of this connection or by its schema; to_regclass() of
-- a name in a schema that the user may not use is an error.
-- name: enter
SELECT current_setting('transaction_isolation'), current_setting('transaction_read_only'),
       c.oid IS NOT NULL,
       coalesce(has_schema_privilege(c.relnamespace, 'USAGE')
                AND has_table_privilege(c.oid, 'SELECT')
                AND has_table_privilege(c.oid, 'UPDATE'), false)
  FROM (VALUES (1)) AS one (row)
  LEFT JOIN pg_class c
    ON c.relname = lower('{bare}lock' COLLATE "C")::name
   AND CASE $1::text WHEN '' THEN pg_table_is_visible(c.oid)
                     ELSE c.relnamespace = (SELECT n.oid FROM pg_namespace n
                                             WHERE n.nspname = $1::text::name) END;

-- $1 key, $2 owner, $3 token, $4 the other owner. SKIP LOCKED: a wait for whoever has the row for a
-- moment could end by the caller's lock_timeout, which aborts. Index: lock_pkey. Reads: 2
-- rows.
-- name: move
WITH mine AS MATERIALIZED (
    SELECT l.lock_key
      FROM {prefix}lock l
     WHERE l.lock_key = $1 AND l.owner = $2 AND l.fence = $3
       FOR NO KEY UPDATE OF l SKIP LOCKED
)
UPDATE {prefix}lock AS l
   SET owner = $4
  FROM mine
 WHERE l.lock_key = mine.lock_key AND l.owner = $2 AND l.fence = $3;
