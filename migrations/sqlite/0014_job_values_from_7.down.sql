-- Takes back 0014.
DROP TRIGGER {prefix}job_values;
