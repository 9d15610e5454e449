-- SQLite: the shape of our tables, as they are. The build makes known_shape.

-- $1 the prefix. A line for each column, index and table.
-- name: shape
WITH ours AS (
    SELECT m.name AS full_name, substr(m.name, length($1) + 1) AS name, m.sql
      FROM sqlite_schema m
     WHERE m.type = 'table' AND substr(m.name, 1, length($1)) = $1
)
SELECT ours.name || ' column ' || c.name || ' ' || lower(c.type)
           || CASE WHEN c."notnull" THEN ' not null' ELSE '' END
           || CASE WHEN c.pk > 0 THEN ' key ' || c.pk ELSE '' END
           || CASE WHEN c.dflt_value IS NOT NULL THEN ' default' ELSE '' END
  FROM ours, pragma_table_info(ours.full_name) c
UNION ALL
SELECT ours.name || CASE WHEN i."unique" THEN ' unique index (' ELSE ' index (' END
           || (SELECT group_concat(coalesce(x.name, 'an expression'), ', ')
                 FROM (SELECT name FROM pragma_index_info(i.name) ORDER BY seqno) x) || ')'
           || CASE WHEN i.partial THEN ' partial' ELSE '' END
  FROM ours, pragma_index_list(ours.full_name) i
UNION ALL
SELECT ours.name || ' without rowid' FROM ours WHERE ours.sql LIKE '%WITHOUT ROWID%';
