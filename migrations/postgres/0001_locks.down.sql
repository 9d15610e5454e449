-- Takes back 0001: every lock and session is forgotten, and tokens start again at 1.
DROP TABLE {prefix}fence_mark;
DROP TABLE {prefix}lock;
DROP TABLE {prefix}session;
