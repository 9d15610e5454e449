-- Takes back 0009, with all schedules.
DROP TABLE IF EXISTS {prefix}job_bell;
DROP TABLE IF EXISTS {prefix}job_schedule;
