-- Takes back 0008, with all jobs.
DROP TABLE IF EXISTS {prefix}job_history;
DROP TABLE IF EXISTS {prefix}job;
DROP TABLE IF EXISTS {prefix}queue;
