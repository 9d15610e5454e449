-- The grants and how they ended, on PostgreSQL. Triggers write each row in the commit that ends its
-- grant, whichever program makes that commit, and there is no cost where there are no triggers.
-- Their functions have the rights of their maker, and name the schema of each table: a program
-- needs no right to write history, and has none.
--
-- {where}: the schema of these tables, quoted.

-- The schema that these tables are found in.
-- name: schema_of_tables
SELECT n.nspname::text
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE c.oid = to_regclass('{prefix}lock');

-- name: drop_grant_trigger
DROP TRIGGER IF EXISTS {bare}grant_ended ON {where}.{bare}lock;

-- name: drop_share_trigger
DROP TRIGGER IF EXISTS {bare}share_ended ON {where}.{bare}holder;

-- name: drop_replace_trigger
DROP TRIGGER IF EXISTS {bare}share_replaced ON {where}.{bare}holder;

-- name: drop_grant_function
DROP FUNCTION IF EXISTS {where}.{bare}grant_ended();

-- name: drop_share_function
DROP FUNCTION IF EXISTS {where}.{bare}share_ended();

-- For row lock, which its owner has lost. A holder whose session, or term, is over lost the key at
-- that moment, no matter when a program finds out. Reads: 1 row, by primary key, of the newest
-- snapshot.
-- name: grant_function
CREATE FUNCTION {where}.{bare}grant_ended() RETURNS trigger
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $leasehold$
DECLARE
    dies_at timestamptz := OLD.expires_at;
    end_at timestamptz := NEW.changed_at;
    how smallint := 1;
BEGIN
    IF OLD.session_id IS NOT NULL THEN
        SELECT s.expires_at INTO dies_at
          FROM {where}.{bare}session s WHERE s.id = OLD.session_id;
    END IF;
    IF NEW.owner IS NULL AND NEW.fence > OLD.fence THEN
        how := 3;
    ELSIF dies_at <= end_at THEN
        how := 2;
        end_at := dies_at;
    END IF;
    INSERT INTO {where}.{bare}grant_history AS h (lock_key, token, kind, mode, permits, node_info,
                                                  metadata, ended_at, held_for, ending)
    VALUES (OLD.lock_key, OLD.fence, OLD.kind, 2, 0, OLD.node_info, OLD.metadata, end_at,
            (extract(epoch FROM {finite end_at} - {finite OLD.changed_at}) * 1000000)::bigint, how)
    ON CONFLICT (lock_key, token) DO UPDATE
       SET node_info = excluded.node_info, metadata = excluded.metadata,
           ended_at = excluded.ended_at, held_for = excluded.held_for, ending = excluded.ending;
    RETURN NULL;
END
$leasehold$;

-- For row holder, also where one grant takes the place of another. The header tells the kind of the
-- hold. A place at a latch or a barrier is no grant, and is not written. A forced release has ended
-- the grants that are older than the fence it left. Reads: 2 rows, by primary key.
-- name: share_function
CREATE FUNCTION {where}.{bare}share_ended() RETURNS trigger
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $leasehold$
DECLARE
    used_as smallint;
    forced_fence bigint;
    dies_at timestamptz;
    end_at timestamptz := clock_timestamp();
    how smallint := CASE TG_OP WHEN 'UPDATE' THEN 4 ELSE 1 END;
BEGIN
    SELECT l.kind, l.forced INTO used_as, forced_fence
      FROM {where}.{bare}lock l WHERE l.lock_key = OLD.lock_key;
    -- Null where somebody has removed the lock's row by hand.
    IF used_as IS NULL OR used_as NOT IN (2, 3) THEN
        RETURN NULL;
    END IF;
    SELECT s.expires_at INTO dies_at FROM {where}.{bare}session s WHERE s.id = OLD.session_id;
    IF dies_at <= end_at THEN
        how := 2;
        end_at := dies_at;
    ELSIF OLD.fence < forced_fence THEN
        how := 3;
    END IF;
    INSERT INTO {where}.{bare}grant_history AS h (lock_key, token, kind, mode, permits, node_info,
                                                  metadata, ended_at, held_for, ending)
    VALUES (OLD.lock_key, OLD.fence, used_as, OLD.mode & 7,
            CASE used_as WHEN 3 THEN OLD.permits ELSE 0 END, OLD.node_info, NULL, end_at,
            (extract(epoch FROM {finite end_at} - {finite OLD.granted_at}) * 1000000)::bigint, how)
    ON CONFLICT (lock_key, token) DO UPDATE
       SET kind = excluded.kind, mode = excluded.mode, permits = excluded.permits,
           node_info = excluded.node_info, ended_at = excluded.ended_at,
           held_for = excluded.held_for, ending = excluded.ending;
    RETURN NULL;
END
$leasehold$;

-- A user that may call the functions could make triggers that write history.
-- name: keep_grant_function
REVOKE ALL ON FUNCTION {where}.{bare}grant_ended() FROM PUBLIC;

-- name: keep_share_function
REVOKE ALL ON FUNCTION {where}.{bare}share_ended() FROM PUBLIC;

-- name: grant_trigger
CREATE TRIGGER {bare}grant_ended AFTER UPDATE OF owner ON {where}.{bare}lock FOR EACH ROW
WHEN (OLD.owner IS NOT NULL AND (NEW.owner IS NULL OR NEW.fence <> OLD.fence))
EXECUTE FUNCTION {where}.{bare}grant_ended();

-- name: share_trigger
CREATE TRIGGER {bare}share_ended AFTER DELETE ON {where}.{bare}holder FOR EACH ROW
WHEN (OLD.fence > 0)
EXECUTE FUNCTION {where}.{bare}share_ended();

-- name: replace_trigger
CREATE TRIGGER {bare}share_replaced AFTER UPDATE OF fence ON {where}.{bare}holder FOR EACH ROW
WHEN (OLD.fence > 0 AND NEW.fence <> OLD.fence)
EXECUTE FUNCTION {where}.{bare}share_ended();

-- Tests row t of pg_trigger.
-- fragment: is_ours
t.tgrelid IN (to_regclass('{prefix}lock'), to_regclass('{prefix}holder'))
    AND t.tgname IN (lower('{bare}grant_ended'), lower('{bare}share_ended'),
                     lower('{bare}share_replaced'))
-- fragment: fires
t.tgenabled IN ('O', 'A')

-- name: any_trigger
SELECT 1 FROM pg_trigger t WHERE {is_ours};

-- The triggers that fire and whose functions this very role has made, with the functions' bodies.
-- name: triggers
-- gives: name body
SELECT t.tgname::text, p.prosrc
  FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid
 WHERE {is_ours} AND {fires} AND pg_get_userbyid(p.proowner) = current_user;

-- $1 whether history is written from now on, $2 for how long it is kept, or null: as before.
-- name: set_rule
UPDATE {prefix}grant_history_rule SET is_on = $1::smallint, keep = coalesce($2::bigint, keep)
 WHERE id = 1;

-- The last column counts those of the three triggers that are there, and fire. If the schema was
-- renamed since, its triggers do not count: their functions have its former name, and fail.
-- name: rule
-- gives: is_on keep triggers
SELECT r.is_on, r.keep,
       (SELECT count(*)
          FROM pg_trigger t
          JOIN pg_proc p ON p.oid = t.tgfoid
          JOIN pg_class c ON c.oid = t.tgrelid
          JOIN pg_namespace n ON n.oid = c.relnamespace
         WHERE strpos(p.prosrc, concat('"', replace(n.nspname, '"', '""'), '".')) > 0
           AND {is_ours} AND {fires})
  FROM {prefix}grant_history_rule r WHERE r.id = 1;

-- The columns of row h, in the order of history_store.cpp.
-- fragment: grant
h.lock_key, h.token, h.kind, h.mode, h.permits, h.node_info, h.metadata,
{since h.ended_at}, h.held_for, h.ending

-- $1 the first key that may be listed, $2 the first after all that have the prefix, $3 how long ago
-- at most, $4 limit. Index: grant_history_ended, from its end. Reads: 1 row for each that has ended
-- since, with the prefix or not, until there are enough. Without statistics the planner believes
-- that one row in 600 is asked for, and reads all rows if they are fewer than some 60,000.
-- name: list
-- gives: key token kind mode permits node_info metadata ended_ago held_for ending
SELECT {grant}
  FROM {prefix}grant_history h
 WHERE h.ended_at >= (SELECT clock_timestamp() - $3::bigint * interval '1 microsecond')
   AND h.lock_key >= $1 AND h.lock_key < $2
 ORDER BY h.ended_at DESC
 LIMIT $4;

-- $1 key, $2 how long ago at most, $3 limit, which the planner does not know: see job.sql. Index:
-- grant_history_pkey, from its end. Reads: 1 row for each.
-- name: list_of
-- gives: @list
SELECT {grant}
  FROM {prefix}grant_history h
 WHERE h.lock_key = $1
   AND h.ended_at >= (SELECT clock_timestamp() - $2::bigint * interval '1 microsecond')
 ORDER BY h.lock_key DESC, h.token DESC
 LIMIT (SELECT $3::bigint);
