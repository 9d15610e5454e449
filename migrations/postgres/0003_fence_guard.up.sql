-- The highest fencing token each resource of this database was shown, for data that is guarded by
-- locks of another database.
CREATE TABLE {prefix}fence_guard (
    resource bytea  NOT NULL,  -- UTF-8, compared byte by byte
    fence    bigint NOT NULL,  -- only grows
    CONSTRAINT {bare}fence_guard_pkey PRIMARY KEY (resource),
    CONSTRAINT {bare}fence_guard_resource_size CHECK (octet_length(resource) BETWEEN 1 AND 255),
    CONSTRAINT {bare}fence_guard_fence_positive CHECK (fence > 0)
) WITH (fillfactor = 60);
