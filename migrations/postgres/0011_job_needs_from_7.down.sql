-- Takes back 0011: nobody waits for others any more.
DROP TABLE IF EXISTS {prefix}job_need;
