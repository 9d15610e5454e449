-- page: begin
SELECT state, attempts, error FROM leasehold_job WHERE id = 4711
UNION ALL
SELECT state, attempts, error FROM leasehold_job_history WHERE id = 4711;
-- page: end
