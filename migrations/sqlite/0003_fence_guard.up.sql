-- The highest fencing token each resource of this database was shown, for data that is guarded by
-- locks of another database.
CREATE TABLE {prefix}fence_guard (
    resource BLOB    NOT NULL PRIMARY KEY,  -- UTF-8, compared byte by byte
    fence    INTEGER NOT NULL,              -- only grows
    CHECK (length(resource) BETWEEN 1 AND 255),
    CHECK (fence > 0)
) WITHOUT ROWID;
