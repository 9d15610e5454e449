-- Takes back 0018: the triggers are those of 0016.
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
