-- A column takes what is no number of its type here: a due time that is the text of a date was
-- never due, and a limit that is a text ended the workers of its queue. A row of somebody's own
-- INSERT with such a value is refused from now on; those that are there already are set aside as
-- discarded, without these values.
CREATE TRIGGER {prefix}job_values BEFORE INSERT ON {prefix}job
WHEN typeof(NEW.priority) <> 'integer' OR NEW.priority NOT BETWEEN -32768 AND 32767
     OR typeof(NEW.due_at) NOT IN ('integer', 'null')
     OR typeof(NEW.attempts_max) NOT IN ('integer', 'null')
     OR typeof(NEW.rescues_max) NOT IN ('integer', 'null')
     OR typeof(NEW.retry_delay) NOT IN ('integer', 'null')
     OR typeof(NEW.retry_delay_max) NOT IN ('integer', 'null')
     OR typeof(NEW.time_limit) NOT IN ('integer', 'null')
BEGIN SELECT RAISE(ABORT, 'numbers of a job are whole; due_at: microseconds since 1970'); END;
INSERT INTO {prefix}job_history
    (id, queue, kind, state, priority, attempts, rescues, token, enqueued_at, ended_at, prune_at,
     unique_until, unique_slot, ordering_key, node_info, progress, error, payload)
SELECT id, queue, kind, 7, 0, attempts, rescues, token, enqueued_at, n.at, n.at + 604800000000,
       unique_until, unique_slot, ordering_key, node_info, progress,
       'set aside by a migration: a number of its row was none; due_at was ' || quote(due_at),
       payload
  FROM {prefix}job,
       (SELECT CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER) AS at) AS n
 WHERE typeof(priority) <> 'integer' OR priority NOT BETWEEN -32768 AND 32767
    OR typeof(due_at) NOT IN ('integer', 'null')
    OR typeof(attempts_max) NOT IN ('integer', 'null')
    OR typeof(rescues_max) NOT IN ('integer', 'null')
    OR typeof(retry_delay) NOT IN ('integer', 'null')
    OR typeof(retry_delay_max) NOT IN ('integer', 'null')
    OR typeof(time_limit) NOT IN ('integer', 'null');
DELETE FROM {prefix}job
 WHERE typeof(priority) <> 'integer' OR priority NOT BETWEEN -32768 AND 32767
    OR typeof(due_at) NOT IN ('integer', 'null')
    OR typeof(attempts_max) NOT IN ('integer', 'null')
    OR typeof(rescues_max) NOT IN ('integer', 'null')
    OR typeof(retry_delay) NOT IN ('integer', 'null')
    OR typeof(retry_delay_max) NOT IN ('integer', 'null')
    OR typeof(time_limit) NOT IN ('integer', 'null');
