-- page: order begin
BEGIN;
INSERT INTO purchase VALUES (1);
SELECT leasehold_enqueue('mail', 'confirm', '{"purchase": 1}');
COMMIT;
-- page: order end

-- page: more begin
SELECT leasehold_enqueue(
    queue => 'mail', kind => 'remind', payload => '{"purchase": 1}',
    run_at => now() + interval '1 hour', unique_key => 'remind 1', ordering_key => 'customer 7',
    priority => -10, attempts_max => 3);
-- page: more end

-- page: trigger begin
CREATE FUNCTION mail_refund() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM leasehold_enqueue('mail', 'refund', json_build_object('purchase', NEW.purchase)::text);
    RETURN NULL;
END
$$;
CREATE TRIGGER mail_refund AFTER INSERT ON refund FOR EACH ROW EXECUTE FUNCTION mail_refund();
-- page: trigger end

INSERT INTO refund VALUES (1);
