-- PostgreSQL: the shape of our tables, as they are. The build makes known_shape.

-- Answers a line for each column, index and check. It leaves out the text of defaults and checks,
-- which servers spell in different ways, and storage options, which are for administrators to set.
-- Names come without the quotes that quote_all_identifiers would put around each. A function is
-- pinned if its search path is the one that the migrations give it.
-- name: shape
WITH ours AS ({ours})
SELECT ours.name || ' column ' || a.attname || ' '
           || replace(format_type(a.atttypid, a.atttypmod), '"', '')
           || CASE WHEN l.collname = 'C' THEN ' collate C' ELSE '' END
           || CASE WHEN a.attnotnull THEN ' not null' ELSE '' END
           || CASE WHEN a.atthasdef THEN ' default' ELSE '' END
           || CASE WHEN a.attidentity <> '' THEN ' identity' ELSE '' END
  FROM ours JOIN pg_attribute a ON a.attrelid = ours.oid AND a.attnum > 0 AND NOT a.attisdropped
  LEFT JOIN pg_collation l ON l.oid = a.attcollation
UNION ALL
SELECT ours.name || CASE WHEN i.indisunique THEN ' unique index (' ELSE ' index (' END
           || (SELECT string_agg(replace(pg_get_indexdef(i.indexrelid, k, true), '"', ''), ', '
                                 ORDER BY k)
                 FROM generate_series(1, i.indnkeyatts) AS k) || ')'
           || CASE WHEN i.indpred IS NULL THEN '' ELSE ' partial' END
           || CASE WHEN i.indisvalid THEN '' ELSE ' invalid' END
  FROM ours JOIN pg_index i ON i.indrelid = ours.oid
UNION ALL
SELECT ours.name || ' check ' || replace(k.conname::text, lower($1::text), '')
           || CASE WHEN k.convalidated THEN '' ELSE ' not valid' END
  FROM ours JOIN pg_constraint k ON k.conrelid = ours.oid AND k.contype = 'c'
UNION ALL
SELECT replace(p.proname::text, lower($1::text), '') || ' function ('
           || replace(replace(oidvectortypes(p.proargtypes), '"', ''),
                      'timestamp with time zone', 'timestamptz') || ')'
           || CASE WHEN 'search_path=pg_catalog, '
                        || replace(p.pronamespace::regnamespace::text, '"', '') || ', pg_temp'
                        = ANY (SELECT replace(c, '"', '') FROM unnest(p.proconfig) AS c)
                   THEN ' pinned' ELSE '' END
  FROM pg_proc p
 WHERE p.proname IN (lower($1::text) || 'enqueue', lower($1::text) || 'prove',
                     lower($1::text) || 'prove_job')
   AND p.pronamespace = (SELECT m.relnamespace FROM pg_class m
                          WHERE m.oid = to_regclass('{prefix}migration'));

-- $1 the prefix. The tables that have policies, and whether those are for this user.
-- name: hidden_rows
-- gives: table hides user
WITH ours AS ({ours})
SELECT ours.name, row_security_active(ours.oid)::int, current_user::text
  FROM ours WHERE ours.relrowsecurity
 ORDER BY ours.name;

-- name: show_rows
ALTER TABLE {table} DISABLE ROW LEVEL SECURITY;
