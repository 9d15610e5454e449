-- Finds the tables of leasehold in a database, whatever they are called.
--
-- The answer has the schema, the prefix, and whether these tables are ours. A table of records
-- counts if the tables of the first migration stand beside it. The statement reads the catalogue
-- only, and finds the tables that this user may see.

-- $1 our prefix. Names are compared as SQLite does, whatever their case.
-- name: find
-- gives: schema prefix is_ours
SELECT '', substr(t.name, 1, length(t.name) - length('migration')),
       t.name = $1 || 'migration' COLLATE NOCASE
  FROM sqlite_master t
 WHERE t.type = 'table' AND t.name LIKE '%migration'
   AND 4 = (SELECT count(*) FROM pragma_table_info(t.name) c
             WHERE c.name IN ('version', 'name', 'checksum', 'finished'))
   AND 2 = (SELECT count(*) FROM sqlite_master o
             WHERE o.type = 'table' AND lower(o.name) IN
                   (lower(substr(t.name, 1, length(t.name) - length('migration')) || 'lock'),
                    lower(substr(t.name, 1, length(t.name) - length('migration')) || 'session')))
 ORDER BY 2;
