-- Takes back 0015: the function is that of 0010.
CREATE OR REPLACE FUNCTION {prefix}enqueue(
    queue         text,
    kind          text        DEFAULT '',
    payload       text        DEFAULT '',
    run_at        timestamptz DEFAULT NULL,
    unique_key    text        DEFAULT NULL,
    ordering_key  text        DEFAULT NULL,
    priority      integer     DEFAULT 0,
    attempts_max  integer     DEFAULT 20
) RETURNS bigint LANGUAGE plpgsql VOLATILE SECURITY INVOKER AS $enqueue$
#variable_conflict use_column
DECLARE
    of_queue CONSTANT text NOT NULL := coalesce(queue, '');
    of_kind CONSTANT text := kind;
    its_payload CONSTANT text := payload;
    its_unique_key CONSTANT text := nullif(unique_key, '');
    its_ordering_key CONSTANT text := nullif(ordering_key, '');
    its_priority CONSTANT integer NOT NULL := coalesce(priority, 0);
    its_attempts_max CONSTANT integer NOT NULL := coalesce(attempts_max, 20);
    not_before CONSTANT timestamptz := run_at;
    payload_bytes_max CONSTANT integer := 1048576;
    is_early boolean NOT NULL := false;
    per_key integer NOT NULL := 1;
    before bigint NOT NULL := 0;
    made bigint;
    wrong text;
BEGIN
    wrong := CASE
        WHEN of_queue = '' THEN 'the name of a queue must not be empty'
        WHEN octet_length(of_queue) > 255
            THEN 'the queue must be at most 255 bytes of UTF-8 without NUL'
        WHEN of_kind IS NULL THEN 'the kind of a job must not be null'
        WHEN octet_length(of_kind) > 255
            THEN 'the kind of a job must be at most 255 bytes of UTF-8 without NUL'
        WHEN octet_length(its_unique_key) > 255
            THEN 'the unique key of a job must be at most 255 bytes of UTF-8 without NUL'
        WHEN octet_length(its_ordering_key) > 255
            THEN 'the ordering key of a job must be at most 255 bytes of UTF-8 without NUL'
        WHEN its_payload IS NULL THEN 'the payload of a job must not be null'
        WHEN octet_length(its_payload) > payload_bytes_max
            THEN 'a payload of ' || octet_length(its_payload) || ' bytes is too long: at most '
                 || payload_bytes_max
                 || ' (payload_bytes_max); store it elsewhere and enqueue where it is'
        WHEN its_priority NOT BETWEEN -32768 AND 32767
            THEN 'the priority of a job must be -32768 to 32767'
        WHEN its_attempts_max NOT BETWEEN 1 AND 10000
            THEN 'a job has 1 to 10000 attempts, not ' || its_attempts_max
        WHEN not_before NOT BETWEEN timestamptz '1970-01-01 00:00:00+00'
                                AND timestamptz '2999-12-31 00:00:00+00'
            THEN 'run_at of a job must be a date of 1970 to 2999'
        END;
    IF wrong IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value', MESSAGE = wrong;
    END IF;
    IF its_ordering_key IS NOT NULL THEN
        per_key := coalesce(
            (SELECT q.running_per_key_max FROM {prefix}queue q WHERE q.name = of_queue), 1);
    END IF;
    FOR look IN 1..10 LOOP
        is_early := coalesce(not_before > clock_timestamp(), false);
        IF its_ordering_key IS NOT NULL AND NOT is_early THEN
            before := (SELECT count(*) FROM (
                SELECT FROM {prefix}job p
                 WHERE p.queue = of_queue AND p.ordering_key = its_ordering_key AND p.state <> 1
                 ORDER BY p.queue, p.ordering_key, p.id
                 LIMIT (SELECT per_key::bigint)) AS counted);
        END IF;
        INSERT INTO {prefix}job AS j
            (queue, kind, state, priority, due_at, attempts_max, unique_slot, ordering_key, payload)
        VALUES
            (of_queue, of_kind,
             CASE WHEN is_early THEN 1
                  WHEN its_ordering_key IS NOT NULL AND before >= per_key THEN 5 ELSE 2 END,
             its_priority, CASE WHEN is_early THEN not_before END, nullif(its_attempts_max, 20),
             its_unique_key, its_ordering_key, its_payload)
        ON CONFLICT (queue, unique_slot) WHERE unique_slot IS NOT NULL DO NOTHING
        RETURNING j.id INTO made;
        IF made IS NULL THEN
            made := (SELECT t.id FROM {prefix}job t
                      WHERE t.queue = of_queue AND t.unique_slot = its_unique_key);
        ELSIF current_setting('synchronous_commit') IN ('off', 'local', 'remote_write') THEN
            PERFORM set_config('synchronous_commit', 'on', true);
        END IF;
        IF made IS NOT NULL THEN
            RETURN made;
        END IF;
    END LOOP;
    RAISE EXCEPTION USING ERRCODE = 'serialization_failure', MESSAGE =
        'a job with the unique key ''' || its_unique_key || ''' is in queue ''' || of_queue
        || ''' already: nothing was enqueued; repeat it';
END
$enqueue$;

-- Whatever the search path of its caller is, it finds the operators of pg_catalog and the tables
-- that stand here now, and never a temporary table of the same name.
DO $pin$
BEGIN
    EXECUTE (
        SELECT format('ALTER FUNCTION %s SET search_path = pg_catalog, %I, pg_temp',
                      f.oid::regprocedure, n.nspname)
          FROM pg_catalog.pg_class t
          JOIN pg_catalog.pg_namespace n ON n.oid = t.relnamespace
         CROSS JOIN pg_catalog.pg_proc f
         WHERE t.oid = '{prefix}job'::regclass
           AND f.oid = '{prefix}enqueue(text, text, text, timestamptz, text, text,
                                        integer, integer)'::regprocedure);
END
$pin$;
