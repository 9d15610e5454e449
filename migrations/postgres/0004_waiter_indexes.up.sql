-- What a session waits for, and a call that does not know its ticket, are found without reading
-- the queues: by whoever looks for circles of waits, and by a call that gives up.
CREATE INDEX {bare}waiter_session ON {prefix}waiter (session_id);
CREATE INDEX {bare}waiter_owner ON {prefix}waiter (owner);
