-- page: order begin
START TRANSACTION;
INSERT INTO purchase VALUES (1);
INSERT INTO leasehold_job (queue, kind, payload) VALUES ('mail', 'confirm', '{"purchase": 1}');
COMMIT;
-- page: order end

-- page: more begin
INSERT INTO leasehold_job
    (queue, kind, payload, due_at, unique_slot, ordering_key, priority, attempts_max)
VALUES
    ('mail', 'remind', '{"purchase": 1}', (UNIX_TIMESTAMP() + 3600) * 1000000, 'remind 1',
     'customer 7', -10, 3)
ON DUPLICATE KEY UPDATE id = LAST_INSERT_ID(id);
SELECT LAST_INSERT_ID(); -- of this job, or of the one that was there
-- page: more end

-- page: trigger begin
CREATE TRIGGER mail_refund AFTER INSERT ON refund FOR EACH ROW
    INSERT INTO leasehold_job (queue, kind, payload)
    VALUES ('mail', 'refund', JSON_OBJECT('purchase', NEW.purchase));
-- page: trigger end

INSERT INTO refund VALUES (1);
