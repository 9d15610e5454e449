-- Takes back 0004.
DROP INDEX {prefix}waiter_owner;
DROP INDEX {prefix}waiter_session;
