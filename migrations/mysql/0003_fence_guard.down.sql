-- Takes back 0003: late writers are not known as such any more.
DROP TABLE IF EXISTS {prefix}fence_guard;
