-- Finds the tables of leasehold in a database, whatever they are called.
--
-- The answer has the schema, the prefix, and whether these tables are ours. A table of records
-- counts if the tables of the first migration stand beside it. The statement reads the catalogue
-- only, and finds the tables that this user may see.

-- $1 our prefix. In this database alone: another one of the same server is another database. The
-- server's own comparison decides which tables are ours, as it does for the tables of a statement.
-- name: find
-- gives: schema prefix is_ours
SELECT '', LEFT(t.table_name, CHAR_LENGTH(t.table_name) - CHAR_LENGTH('migration')),
       IF(@@lower_case_table_names = 0,
          BINARY t.table_name = BINARY CONCAT($1, 'migration'),
          LOWER(t.table_name) = LOWER(CONCAT($1, 'migration')))
  FROM information_schema.tables t
 WHERE t.table_schema = DATABASE() AND t.table_name LIKE '%migration'
   AND 4 = (SELECT COUNT(*) FROM information_schema.columns c
             WHERE c.table_schema = t.table_schema AND c.table_name = t.table_name
               AND c.column_name IN ('version', 'name', 'checksum', 'finished'))
   AND 2 = (SELECT COUNT(*) FROM information_schema.tables o
             WHERE o.table_schema = t.table_schema AND o.table_name IN
                   (CONCAT(LEFT(t.table_name, CHAR_LENGTH(t.table_name) - 9), 'lock'),
                    CONCAT(LEFT(t.table_name, CHAR_LENGTH(t.table_name) - 9), 'session')))
 ORDER BY 2;
