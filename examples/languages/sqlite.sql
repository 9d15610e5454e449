.timeout 10000
-- page: order begin
BEGIN IMMEDIATE;
INSERT INTO purchase VALUES (1);
INSERT INTO leasehold_job (queue, kind, payload) VALUES ('mail', 'confirm', '{"purchase": 1}');
COMMIT;
-- page: order end

-- page: more begin
INSERT INTO leasehold_job
    (queue, kind, payload, due_at, unique_slot, ordering_key, priority, attempts_max)
VALUES
    ('mail', 'remind', '{"purchase": 1}', (unixepoch() + 3600) * 1000000, 'remind 1',
     'customer 7', -10, 3)
ON CONFLICT (queue, unique_slot) WHERE unique_slot IS NOT NULL DO NOTHING;
SELECT id FROM leasehold_job WHERE queue = 'mail' AND unique_slot = 'remind 1';
-- page: more end

-- page: trigger begin
CREATE TRIGGER mail_refund AFTER INSERT ON refund BEGIN
    INSERT INTO leasehold_job (queue, kind, payload)
    VALUES ('mail', 'refund', json_object('purchase', NEW.purchase));
END;
-- page: trigger end

INSERT INTO refund VALUES (1);
