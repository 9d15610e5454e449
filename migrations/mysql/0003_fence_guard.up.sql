-- The highest fencing token each resource of this database was shown, for data that is guarded by
-- locks of another database.
CREATE TABLE IF NOT EXISTS {prefix}fence_guard (
    resource VARBINARY(255) NOT NULL COMMENT 'UTF-8, compared byte by byte',
    fence    BIGINT         NOT NULL COMMENT 'only grows',
    PRIMARY KEY (resource),
    CONSTRAINT {bare}fence_guard_resource_size CHECK (LENGTH(resource) BETWEEN 1 AND 255),
    CONSTRAINT {bare}fence_guard_fence_positive CHECK (fence > 0)
) ENGINE = InnoDB;
