-- MySQL and MariaDB: the shape of our tables, as they are. The build makes known_shape.

-- $1 the prefix. Answers a line for each column, index and table. It leaves out the text of
-- defaults and checks, which servers spell in different ways.
-- name: shape
SELECT CONCAT(SUBSTR(c.TABLE_NAME, CHAR_LENGTH($1) + 1), ' column ', c.COLUMN_NAME, ' ',
              LOWER(c.DATA_TYPE),
              CASE WHEN c.CHARACTER_MAXIMUM_LENGTH IS NULL OR c.CHARACTER_MAXIMUM_LENGTH > 65534
                   THEN '' ELSE CONCAT('(', c.CHARACTER_MAXIMUM_LENGTH, ')') END,
              CASE WHEN c.CHARACTER_SET_NAME IS NULL THEN ''
                   ELSE CONCAT(' ', c.CHARACTER_SET_NAME) END,
              CASE WHEN c.IS_NULLABLE = 'NO' THEN ' not null' ELSE '' END,
              CASE WHEN c.EXTRA LIKE '%auto_increment%' THEN ' auto_increment' ELSE '' END)
FROM information_schema.COLUMNS c
WHERE c.TABLE_SCHEMA = DATABASE() AND LEFT(c.TABLE_NAME, CHAR_LENGTH($1)) = $1
UNION ALL
SELECT CONCAT(SUBSTR(i.TABLE_NAME, CHAR_LENGTH($1) + 1),
              CASE WHEN MAX(i.NON_UNIQUE) = 0 THEN ' unique index (' ELSE ' index (' END,
              GROUP_CONCAT(i.COLUMN_NAME ORDER BY i.SEQ_IN_INDEX SEPARATOR ', '), ')')
FROM information_schema.STATISTICS i
WHERE i.TABLE_SCHEMA = DATABASE() AND LEFT(i.TABLE_NAME, CHAR_LENGTH($1)) = $1
GROUP BY i.TABLE_NAME, i.INDEX_NAME
UNION ALL
SELECT CONCAT(SUBSTR(t.TABLE_NAME, CHAR_LENGTH($1) + 1), ' engine ', LOWER(t.ENGINE))
FROM information_schema.TABLES t
WHERE t.TABLE_SCHEMA = DATABASE() AND LEFT(t.TABLE_NAME, CHAR_LENGTH($1)) = $1;
