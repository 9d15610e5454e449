-- Jobs that somebody inserted by hand with a due time that no clock reaches: 'infinity' is refused
-- from now on, by a constraint that says so. One that was due at '-infinity' is due; one that never
-- would be is set aside as discarded.
UPDATE {prefix}job SET due_at = 'epoch' WHERE due_at = '-infinity';
INSERT INTO {prefix}job_history
    (id, queue, kind, state, priority, attempts, rescues, token, enqueued_at, ended_at, prune_at,
     attempts_max, rescues_max, retry_delay, retry_delay_max, time_limit, unique_until, unique_slot,
     ordering_key, node_info, progress, error, payload)
SELECT id, queue, kind, 7, priority, attempts, rescues, token, enqueued_at, clock_timestamp(),
       clock_timestamp() + interval '7 days', attempts_max, rescues_max, retry_delay,
       retry_delay_max, time_limit, unique_until, unique_slot, ordering_key, node_info, progress,
       'set aside by a migration: due_at was infinity', payload
  FROM {prefix}job WHERE due_at = 'infinity';
DELETE FROM {prefix}job WHERE due_at = 'infinity';
ALTER TABLE {prefix}job ADD CONSTRAINT {bare}job_due_at_is_finite
    CHECK (isfinite(due_at));
