-- Takes back 0004.
DROP INDEX {bare}waiter_owner;
DROP INDEX {bare}waiter_session;
