-- Takes back 0016: the trigger is that of 0014.
DROP TRIGGER {prefix}job_schedule_numbers_changed;
DROP TRIGGER {prefix}job_schedule_numbers;
DROP TRIGGER {prefix}queue_limits_changed;
DROP TRIGGER {prefix}queue_limits;
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
BEGIN SELECT RAISE(ABORT, 'numbers of a job are whole; due_at: microseconds since 1970'); END;
