-- A BLOB is equal to no text. A job whose queue or kind is one, as a client makes of a string of
-- bytes, was never run, and nobody said so. Those that are there become texts, and give up
-- a unique key that another job has meanwhile. Others are refused from now on, as is an UPDATE that
-- leaves no id for later jobs.
UPDATE {prefix}job AS b SET unique_slot = NULL
 WHERE typeof(b.queue) <> 'text' AND b.unique_slot IS NOT NULL
   AND EXISTS (SELECT 1 FROM {prefix}job o
                WHERE o.queue = CAST(b.queue AS TEXT) AND o.unique_slot = b.unique_slot);
UPDATE {prefix}job SET queue = CAST(queue AS TEXT), kind = CAST(kind AS TEXT)
 WHERE typeof(queue) <> 'text' OR typeof(kind) <> 'text';
DROP TRIGGER {prefix}job_values_changed;
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
     OR typeof(NEW.queue) <> 'text' OR typeof(NEW.kind) <> 'text'
     OR NEW.id > 4611686018427387904 -- behind which there would be no number left for others
BEGIN SELECT RAISE(ABORT, 'whole numbers; queue, kind: text; due_at: microseconds since 1970'); END;
CREATE TRIGGER {prefix}job_values_changed
BEFORE UPDATE OF priority, due_at, enqueued_at, attempts_max, rescues_max, retry_delay,
                 retry_delay_max, time_limit, queue, kind, id ON {prefix}job
WHEN typeof(NEW.priority) <> 'integer' OR NEW.priority NOT BETWEEN -32768 AND 32767
     OR typeof(NEW.due_at) NOT IN ('integer', 'null')
     OR typeof(NEW.attempts_max) NOT IN ('integer', 'null')
     OR typeof(NEW.rescues_max) NOT IN ('integer', 'null')
     OR typeof(NEW.retry_delay) NOT IN ('integer', 'null')
     OR typeof(NEW.retry_delay_max) NOT IN ('integer', 'null')
     OR typeof(NEW.time_limit) NOT IN ('integer', 'null')
     OR typeof(NEW.enqueued_at) <> 'integer'
     OR NEW.enqueued_at NOT BETWEEN 0 AND 253402300799999999
     OR typeof(NEW.queue) <> 'text' OR typeof(NEW.kind) <> 'text'
     OR NEW.id > 4611686018427387904
BEGIN SELECT RAISE(ABORT, 'whole numbers; queue, kind: text; due_at: microseconds since 1970'); END;
