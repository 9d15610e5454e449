-- Of 0014: an UPDATE by hand is refused as an INSERT is, and so are other numbers of a job. The
-- second trigger is for columns alone that no claim and no end of a job writes, so that it costs
-- them nothing; a claim makes numbers of what it reads.
DROP TRIGGER {prefix}job_values;
CREATE TRIGGER {prefix}job_values BEFORE INSERT ON {prefix}job
WHEN typeof(NEW.priority) <> 'integer' OR NEW.priority NOT BETWEEN -32768 AND 32767
     OR typeof(NEW.due_at) NOT IN ('integer', 'null')
     OR typeof(NEW.attempts_max) NOT IN ('integer', 'null')
     OR typeof(NEW.rescues_max) NOT IN ('integer', 'null')
     OR typeof(NEW.retry_delay) NOT IN ('integer', 'null')
     OR typeof(NEW.retry_delay_max) NOT IN ('integer', 'null')
     OR typeof(NEW.time_limit) NOT IN ('integer', 'null')
     OR typeof(NEW.enqueued_at) <> 'integer'
     OR NEW.enqueued_at NOT BETWEEN 0 AND 253402300799999999
     OR typeof(NEW.state) <> 'integer'
     OR typeof(NEW.attempts) <> 'integer' OR typeof(NEW.rescues) <> 'integer'
     OR typeof(NEW.token) <> 'integer' OR typeof(NEW.is_cancel_requested) <> 'integer'
     OR NEW.id > 4611686018427387904 -- behind which there would be no number left for others
BEGIN SELECT RAISE(ABORT, 'numbers of a job are whole; due_at: microseconds since 1970'); END;
CREATE TRIGGER {prefix}job_values_changed
BEFORE UPDATE OF priority, due_at, enqueued_at, attempts_max, rescues_max, retry_delay,
                 retry_delay_max, time_limit ON {prefix}job
WHEN typeof(NEW.priority) <> 'integer' OR NEW.priority NOT BETWEEN -32768 AND 32767
     OR typeof(NEW.due_at) NOT IN ('integer', 'null')
     OR typeof(NEW.attempts_max) NOT IN ('integer', 'null')
     OR typeof(NEW.rescues_max) NOT IN ('integer', 'null')
     OR typeof(NEW.retry_delay) NOT IN ('integer', 'null')
     OR typeof(NEW.retry_delay_max) NOT IN ('integer', 'null')
     OR typeof(NEW.time_limit) NOT IN ('integer', 'null')
     OR typeof(NEW.enqueued_at) <> 'integer'
     OR NEW.enqueued_at NOT BETWEEN 0 AND 253402300799999999
BEGIN SELECT RAISE(ABORT, 'numbers of a job are whole; due_at: microseconds since 1970'); END;
INSERT INTO {prefix}job_history
    (id, queue, kind, state, priority, attempts, rescues, token, enqueued_at, ended_at, prune_at,
     unique_until, unique_slot, ordering_key, node_info, progress, error, payload)
SELECT id, queue, kind, 7, 0, CAST(attempts AS INTEGER), CAST(rescues AS INTEGER),
       CAST(token AS INTEGER), CAST(enqueued_at AS INTEGER), n.at, n.at + 604800000000,
       unique_until, unique_slot, ordering_key, node_info, progress,
       'set aside by a migration: a number of its row was none; due_at was ' || quote(due_at),
       payload
  FROM {prefix}job,
       (SELECT CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER) AS at) AS n
 WHERE typeof(priority) <> 'integer' OR priority NOT BETWEEN -32768 AND 32767
    OR typeof(due_at) NOT IN ('integer', 'null') OR typeof(attempts_max) NOT IN ('integer', 'null')
    OR typeof(rescues_max) NOT IN ('integer', 'null')
    OR typeof(retry_delay) NOT IN ('integer', 'null')
    OR typeof(retry_delay_max) NOT IN ('integer', 'null')
    OR typeof(time_limit) NOT IN ('integer', 'null') OR typeof(enqueued_at) <> 'integer'
    OR enqueued_at NOT BETWEEN 0 AND 253402300799999999 OR typeof(state) <> 'integer'
    OR typeof(is_cancel_requested) <> 'integer';
DELETE FROM {prefix}job
 WHERE typeof(priority) <> 'integer' OR priority NOT BETWEEN -32768 AND 32767
    OR typeof(due_at) NOT IN ('integer', 'null') OR typeof(attempts_max) NOT IN ('integer', 'null')
    OR typeof(rescues_max) NOT IN ('integer', 'null')
    OR typeof(retry_delay) NOT IN ('integer', 'null')
    OR typeof(retry_delay_max) NOT IN ('integer', 'null')
    OR typeof(time_limit) NOT IN ('integer', 'null') OR typeof(enqueued_at) <> 'integer'
    OR enqueued_at NOT BETWEEN 0 AND 253402300799999999 OR typeof(state) <> 'integer'
    OR typeof(is_cancel_requested) <> 'integer';

-- Limits of a queue with which no claim can count, as a period of 0, and text. Such a queue is
-- paused and has the usual limits from now on.
UPDATE {prefix}queue
   SET is_paused = 1, running_max = NULL, running_per_key_max = 1, starts_max = NULL,
       starts_per = 1000000, keep_completed = 0, keep_discarded = 604800000000,
       keep_cancelled = 604800000000
 WHERE typeof(is_paused) <> 'integer' OR typeof(running_max) NOT IN ('integer', 'null')
    OR typeof(running_per_key_max) <> 'integer' OR running_per_key_max NOT BETWEEN 1 AND 1000000
    OR typeof(starts_max) NOT IN ('integer', 'null') OR starts_max NOT BETWEEN 1 AND 1000000
    OR typeof(starts_per) <> 'integer' OR starts_per NOT BETWEEN 1 AND 31622400000000
    OR typeof(keep_completed) <> 'integer' OR keep_completed NOT BETWEEN 0 AND 3162240000000000
    OR typeof(keep_discarded) <> 'integer' OR keep_discarded NOT BETWEEN 0 AND 3162240000000000
    OR typeof(keep_cancelled) <> 'integer' OR keep_cancelled NOT BETWEEN 0 AND 3162240000000000;
CREATE TRIGGER {prefix}queue_limits BEFORE INSERT ON {prefix}queue
WHEN typeof(NEW.is_paused) <> 'integer' OR typeof(NEW.running_max) NOT IN ('integer', 'null')
     OR typeof(NEW.running_per_key_max) <> 'integer'
     OR NEW.running_per_key_max NOT BETWEEN 1 AND 1000000
     OR typeof(NEW.starts_max) NOT IN ('integer', 'null')
     OR NEW.starts_max NOT BETWEEN 1 AND 1000000
     OR typeof(NEW.starts_per) <> 'integer' OR NEW.starts_per NOT BETWEEN 1 AND 31622400000000
     OR typeof(NEW.keep_completed) <> 'integer'
     OR NEW.keep_completed NOT BETWEEN 0 AND 3162240000000000
     OR typeof(NEW.keep_discarded) <> 'integer'
     OR NEW.keep_discarded NOT BETWEEN 0 AND 3162240000000000
     OR typeof(NEW.keep_cancelled) <> 'integer'
     OR NEW.keep_cancelled NOT BETWEEN 0 AND 3162240000000000
BEGIN SELECT RAISE(ABORT, 'limits of a queue are whole numbers in their range'); END;
CREATE TRIGGER {prefix}queue_limits_changed
BEFORE UPDATE OF is_paused, running_max, running_per_key_max, starts_max, starts_per,
                 keep_completed, keep_discarded, keep_cancelled ON {prefix}queue
WHEN typeof(NEW.is_paused) <> 'integer' OR typeof(NEW.running_max) NOT IN ('integer', 'null')
     OR typeof(NEW.running_per_key_max) <> 'integer'
     OR NEW.running_per_key_max NOT BETWEEN 1 AND 1000000
     OR typeof(NEW.starts_max) NOT IN ('integer', 'null')
     OR NEW.starts_max NOT BETWEEN 1 AND 1000000
     OR typeof(NEW.starts_per) <> 'integer' OR NEW.starts_per NOT BETWEEN 1 AND 31622400000000
     OR typeof(NEW.keep_completed) <> 'integer'
     OR NEW.keep_completed NOT BETWEEN 0 AND 3162240000000000
     OR typeof(NEW.keep_discarded) <> 'integer'
     OR NEW.keep_discarded NOT BETWEEN 0 AND 3162240000000000
     OR typeof(NEW.keep_cancelled) <> 'integer'
     OR NEW.keep_cancelled NOT BETWEEN 0 AND 3162240000000000
BEGIN SELECT RAISE(ABORT, 'limits of a queue are whole numbers in their range'); END;

-- Numbers of a schedule with which no fire time can be found. Such a schedule is paused.
UPDATE {prefix}job_schedule
   SET is_paused = 1, version = CAST(version AS INTEGER), period = CAST(period AS INTEGER),
       misfire = 2, catch_up_max = 10, late_max = 60000000, next_at = 0, last_at = NULL,
       last_job = NULL, priority = 0, attempts_max = NULL, rescues_max = NULL, retry_delay = NULL,
       retry_delay_max = NULL, time_limit = NULL, unique_until = NULL, unique_conflict = 1
 WHERE typeof(is_paused) <> 'integer' OR typeof(version) <> 'integer'
    OR typeof(period) NOT IN ('integer', 'null') OR typeof(misfire) <> 'integer'
    OR misfire NOT BETWEEN 1 AND 3 OR typeof(catch_up_max) <> 'integer'
    OR catch_up_max NOT BETWEEN 1 AND 1000 OR typeof(late_max) <> 'integer'
    OR late_max NOT BETWEEN 0 AND 31622400000000 OR typeof(next_at) <> 'integer'
    OR next_at NOT BETWEEN 0 AND 253402300799999999 OR typeof(last_at) NOT IN ('integer', 'null')
    OR last_at NOT BETWEEN 0 AND 253402300799999999 OR typeof(last_job) NOT IN ('integer', 'null')
    OR typeof(priority) <> 'integer' OR priority NOT BETWEEN -32768 AND 32767
    OR typeof(attempts_max) NOT IN ('integer', 'null')
    OR typeof(rescues_max) NOT IN ('integer', 'null')
    OR typeof(retry_delay) NOT IN ('integer', 'null')
    OR typeof(retry_delay_max) NOT IN ('integer', 'null')
    OR typeof(time_limit) NOT IN ('integer', 'null')
    OR typeof(unique_until) NOT IN ('integer', 'null') OR typeof(unique_conflict) <> 'integer'
    OR unique_conflict NOT BETWEEN 1 AND 2;
CREATE TRIGGER {prefix}job_schedule_numbers BEFORE INSERT ON {prefix}job_schedule
WHEN typeof(NEW.is_paused) <> 'integer' OR typeof(NEW.version) <> 'integer'
     OR typeof(NEW.period) NOT IN ('integer', 'null') OR typeof(NEW.misfire) <> 'integer'
     OR NEW.misfire NOT BETWEEN 1 AND 3 OR typeof(NEW.catch_up_max) <> 'integer'
     OR NEW.catch_up_max NOT BETWEEN 1 AND 1000 OR typeof(NEW.late_max) <> 'integer'
     OR NEW.late_max NOT BETWEEN 0 AND 31622400000000 OR typeof(NEW.next_at) <> 'integer'
     OR NEW.next_at NOT BETWEEN 0 AND 253402300799999999
     OR typeof(NEW.last_at) NOT IN ('integer', 'null')
     OR NEW.last_at NOT BETWEEN 0 AND 253402300799999999
     OR typeof(NEW.last_job) NOT IN ('integer', 'null')
     OR typeof(NEW.priority) <> 'integer' OR NEW.priority NOT BETWEEN -32768 AND 32767
     OR typeof(NEW.attempts_max) NOT IN ('integer', 'null')
     OR typeof(NEW.rescues_max) NOT IN ('integer', 'null')
     OR typeof(NEW.retry_delay) NOT IN ('integer', 'null')
     OR typeof(NEW.retry_delay_max) NOT IN ('integer', 'null')
     OR typeof(NEW.time_limit) NOT IN ('integer', 'null')
     OR typeof(NEW.unique_until) NOT IN ('integer', 'null')
     OR typeof(NEW.unique_conflict) <> 'integer' OR NEW.unique_conflict NOT BETWEEN 1 AND 2
BEGIN SELECT RAISE(ABORT, 'numbers of a schedule are whole and in their range'); END;
CREATE TRIGGER {prefix}job_schedule_numbers_changed BEFORE UPDATE ON {prefix}job_schedule
WHEN typeof(NEW.is_paused) <> 'integer' OR typeof(NEW.version) <> 'integer'
     OR typeof(NEW.period) NOT IN ('integer', 'null') OR typeof(NEW.misfire) <> 'integer'
     OR NEW.misfire NOT BETWEEN 1 AND 3 OR typeof(NEW.catch_up_max) <> 'integer'
     OR NEW.catch_up_max NOT BETWEEN 1 AND 1000 OR typeof(NEW.late_max) <> 'integer'
     OR NEW.late_max NOT BETWEEN 0 AND 31622400000000 OR typeof(NEW.next_at) <> 'integer'
     OR NEW.next_at NOT BETWEEN 0 AND 253402300799999999
     OR typeof(NEW.last_at) NOT IN ('integer', 'null')
     OR NEW.last_at NOT BETWEEN 0 AND 253402300799999999
     OR typeof(NEW.last_job) NOT IN ('integer', 'null')
     OR typeof(NEW.priority) <> 'integer' OR NEW.priority NOT BETWEEN -32768 AND 32767
     OR typeof(NEW.attempts_max) NOT IN ('integer', 'null')
     OR typeof(NEW.rescues_max) NOT IN ('integer', 'null')
     OR typeof(NEW.retry_delay) NOT IN ('integer', 'null')
     OR typeof(NEW.retry_delay_max) NOT IN ('integer', 'null')
     OR typeof(NEW.time_limit) NOT IN ('integer', 'null')
     OR typeof(NEW.unique_until) NOT IN ('integer', 'null')
     OR typeof(NEW.unique_conflict) <> 'integer' OR NEW.unique_conflict NOT BETWEEN 1 AND 2
BEGIN SELECT RAISE(ABORT, 'numbers of a schedule are whole and in their range'); END;
