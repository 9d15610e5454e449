-- Takes back 0001: every lock and session is forgotten, and tokens start again at 1.
DROP TABLE IF EXISTS {prefix}fence_mark;
DROP TABLE IF EXISTS {prefix}waiter;
DROP TABLE IF EXISTS {prefix}holder;
DROP TABLE IF EXISTS {prefix}lock;
DROP TABLE IF EXISTS {prefix}session;
