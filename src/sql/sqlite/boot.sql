-- SQLite: the first write after a reboot. Times of another boot mean nothing on this clock, and no
-- process of that boot is alive.

-- name: read
SELECT boot_id FROM {prefix}fence_mark WHERE id = 1;

-- Clears the name of the boot, since history must not count the holds that the next statements free
-- as ended in this boot.
-- name: leave
UPDATE {prefix}fence_mark SET boot_id = '' WHERE id = 1;

-- name: free_locks
UPDATE {prefix}lock SET {free}, last_ticket = 0;

-- name: end_queues
DELETE FROM {prefix}waiter;

-- name: remove_holders
DELETE FROM {prefix}holder;

-- name: end_sessions
DELETE FROM {prefix}session;

-- The state of upkeep that has looked at nothing yet.
-- name: begin_upkeep
UPDATE {prefix}upkeep
   SET turned_at = 0, place = x'', sweeps_to = -(1 << 62), swept_to = -(1 << 62);

-- name: enter
UPDATE {prefix}fence_mark SET boot_id = {boot} WHERE id = 1;
