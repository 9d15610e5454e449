-- Functions that prove a lock, or the claim of a job, in the transaction of their caller: for
-- programs that do not link the library. They lock the row that every successor must change, and so
-- keep successors out until that transaction ends; docs/proofs-from-other-languages.md.
CREATE FUNCTION {prefix}prove(
    key           text,
    owner         text,
    token         bigint
) RETURNS void LANGUAGE plpgsql VOLATILE SECURITY INVOKER SET enable_seqscan = off AS $prove$
#variable_conflict use_variable
DECLARE
    of_key CONSTANT bytea := convert_to(key, 'UTF8');
    of_owner bytea;
BEGIN
    IF key IS NULL OR owner IS NULL OR owner !~ '^[0-9a-f]{32}$' OR token IS NULL OR token < 1 THEN
        RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value', MESSAGE =
            'leasehold_prove needs a key, an owner of 32 lower-case hexadecimal digits and a token',
            HINT = 'A command finds them in LEASEHOLD_KEY, LEASEHOLD_OWNER and LEASEHOLD_TOKEN.';
    END IF;
    of_owner := decode(owner, 'hex');
    PERFORM FROM {prefix}lock l
      WHERE l.lock_key = of_key AND l.owner = of_owner AND l.fence = token FOR SHARE;
    IF NOT FOUND THEN
        PERFORM FROM {prefix}holder h
          WHERE h.lock_key = of_key AND h.owner = of_owner AND h.fence = token FOR SHARE;
    END IF;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'LH001', MESSAGE =
            'the lock ''' || key || ''' is no longer held under token ' || token,
            HINT = 'Roll back, and do not try this write again.';
    END IF;
END
$prove$;

CREATE FUNCTION {prefix}prove_job(
    job           bigint,
    token         bigint
) RETURNS void LANGUAGE plpgsql VOLATILE SECURITY INVOKER SET enable_seqscan = off AS $prove$
#variable_conflict use_variable
BEGIN
    IF job IS NULL OR token IS NULL OR token < 1 THEN
        RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value', MESSAGE =
            'leasehold_prove_job needs a job and a token',
            HINT = 'A command finds them in LEASEHOLD_JOB_ID and LEASEHOLD_JOB_TOKEN.';
    END IF;
    PERFORM FROM {prefix}job j WHERE j.id = job AND j.token = token AND j.state + 0 = 3 FOR SHARE;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'LH001', MESSAGE =
            'job ' || job || ' is no longer claimed under token ' || token,
            HINT = 'Roll back, and do not try this write again.';
    END IF;
END
$prove$;

-- Whatever the search path of their caller is, they find the operators of pg_catalog and the tables
-- that stand here now, and never a temporary table of the same name.
DO $pin$
DECLARE
    each text;
BEGIN
    FOR each IN
        SELECT format('ALTER FUNCTION %s SET search_path = pg_catalog, %I, pg_temp',
                      f.oid::regprocedure, n.nspname)
          FROM pg_catalog.pg_class t
          JOIN pg_catalog.pg_namespace n ON n.oid = t.relnamespace
         CROSS JOIN pg_catalog.pg_proc f
         WHERE t.oid = '{prefix}job'::regclass
           AND f.oid IN (to_regprocedure('{prefix}prove(text, text, bigint)'),
                         to_regprocedure('{prefix}prove_job(bigint, bigint)'))
    LOOP
        EXECUTE each;
    END LOOP;
END
$pin$;
