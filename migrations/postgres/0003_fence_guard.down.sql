-- Takes back 0003: late writers are not known as such any more.
DROP TABLE {prefix}fence_guard;
