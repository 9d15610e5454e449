-- The grants and how they ended, on MySQL and MariaDB. Triggers write each row in the commit that
-- ends its grant, whichever program makes that commit, and there is no cost where there are no
-- triggers. They have the rights of their maker: a program needs no right to write history, and has
-- none. They lock nothing that they read, our connections being at READ COMMITTED: they read by
-- SELECT … INTO, since SET v = (SELECT …) waits in a trigger for a session that has the row locked.
-- MariaDB nevertheless locks the rows that a trigger of a DELETE reads if it writes a binary log in
-- another format than ROW (tried on 10.11).

-- Fails for a user without the rights that the triggers act with: a user with the right TRIGGER
-- alone would make triggers that let nobody release a key. Changes nothing.
-- name: prove_rights
REPLACE INTO {prefix}grant_history (lock_key, token, kind, mode, permits, node_info, metadata,
                                    ended_at, held_for, ending)
SELECT l.lock_key, h.fence, l.kind, h.mode, h.permits, l.node_info, l.metadata, s.expires_at,
       r.keep, r.is_on
FROM {prefix}lock l, {prefix}holder h, {prefix}session s, {prefix}grant_history_rule r WHERE FALSE;

-- name: prove_right_to_turn
UPDATE {prefix}grant_history_rule SET is_on = is_on WHERE FALSE;

-- name: drop_grant_trigger
DROP TRIGGER IF EXISTS {prefix}grant_ended;

-- name: drop_share_trigger
DROP TRIGGER IF EXISTS {prefix}share_ended;

-- name: drop_replace_trigger
DROP TRIGGER IF EXISTS {prefix}share_replaced;

-- For row lock, which its owner has lost. A holder whose session, or term, is over lost the key at
-- that moment, no matter when a program finds out. Reads: 1 row, by primary key.
-- name: grant_trigger
CREATE TRIGGER {prefix}grant_ended AFTER UPDATE ON {prefix}lock FOR EACH ROW
BEGIN
    DECLARE dies_at BIGINT;
    DECLARE end_at BIGINT;
    DECLARE how SMALLINT DEFAULT 1;
    IF OLD.owner IS NOT NULL AND (NEW.owner IS NULL OR NEW.fence <> OLD.fence) THEN
        SET end_at = NEW.changed_at;
        SELECT COALESCE(OLD.expires_at, MAX(s.expires_at)) INTO dies_at
        FROM {prefix}session s WHERE s.id = OLD.session_id;
        IF NEW.owner IS NULL AND NEW.fence > OLD.fence THEN
            SET how = 3;
        ELSEIF dies_at <= end_at THEN
            SET how = 2;
            SET end_at = dies_at;
        END IF;
        REPLACE INTO {prefix}grant_history (lock_key, token, kind, mode, permits, node_info,
                                            metadata, ended_at, held_for, ending)
        VALUES (OLD.lock_key, OLD.fence, OLD.kind, 2, 0, OLD.node_info, OLD.metadata, end_at,
                {finite end_at} - {finite OLD.changed_at}, how);
    END IF;
END;

-- For a holder row that was deleted, or replaced under another fence. The header tells the hold's
-- kind; a place at a latch or a barrier is no grant, and is not written. A forced release ended the
-- grants older than the fence it left. Reads: 2 rows, by primary key.
-- fragment: write_share
    DECLARE dies_at BIGINT;
    DECLARE end_at BIGINT;
    DECLARE used_as SMALLINT;
    DECLARE forced_fence BIGINT;
    IF OLD.fence > 0 AND is_over THEN
        SELECT l.kind, l.forced INTO used_as, forced_fence
        FROM {prefix}lock l WHERE l.lock_key = OLD.lock_key;
        IF used_as IN (2, 3) THEN
            SET end_at = {now};
            SELECT MAX(s.expires_at) INTO dies_at
            FROM {prefix}session s WHERE s.id = OLD.session_id;
            IF dies_at <= end_at THEN
                SET how = 2;
                SET end_at = dies_at;
            ELSEIF OLD.fence < forced_fence THEN
                SET how = 3;
            END IF;
            REPLACE INTO {prefix}grant_history (lock_key, token, kind, mode, permits, node_info,
                                                metadata, ended_at, held_for, ending)
            VALUES (OLD.lock_key, OLD.fence, used_as, OLD.mode & 7,
                    IF(used_as = 3, OLD.permits, 0), OLD.node_info, NULL, end_at,
                    {finite end_at} - {finite OLD.granted_at}, how);
        END IF;
    END IF;

-- name: share_trigger
CREATE TRIGGER {prefix}share_ended AFTER DELETE ON {prefix}holder FOR EACH ROW
BEGIN
    DECLARE is_over BOOLEAN DEFAULT TRUE;
    DECLARE how SMALLINT DEFAULT 1;
{write_share};
END;

-- name: replace_trigger
CREATE TRIGGER {prefix}share_replaced AFTER UPDATE ON {prefix}holder FOR EACH ROW
BEGIN
    DECLARE is_over BOOLEAN DEFAULT NEW.fence <> OLD.fence;
    DECLARE how SMALLINT DEFAULT 4;
{write_share};
END;

-- Tests row t of information_schema.triggers.
-- fragment: is_ours
t.trigger_schema = DATABASE()
    AND t.trigger_name IN ('{prefix}grant_ended', '{prefix}share_ended', '{prefix}share_replaced')

-- The triggers that this very account has made, and their bodies.
-- name: triggers
-- gives: name body
SELECT t.trigger_name, t.action_statement FROM information_schema.triggers t
WHERE {is_ours} AND t.definer = CURRENT_USER();

-- $1 whether history is written from now on, $2 for how long it is kept, or null: as before.
-- name: set_rule
UPDATE {prefix}grant_history_rule SET is_on = $1, keep = COALESCE($2, keep) WHERE id = 1;

-- A grantee is named as 'user'@'host'.
-- fragment: sees_no_triggers
NOT EXISTS (
        SELECT 1 FROM information_schema.user_privileges p
        WHERE REPLACE(p.grantee, '''', '') = CURRENT_USER() AND p.privilege_type = 'TRIGGER')
    AND NOT EXISTS (
        SELECT 1 FROM information_schema.schema_privileges p
        WHERE REPLACE(p.grantee, '''', '') = CURRENT_USER() AND p.privilege_type = 'TRIGGER'
          AND DATABASE() LIKE p.table_schema)

-- The last column counts the existing ones of the three triggers; null if this user cannot know. A
-- user that sees none has to have the right TRIGGER by its own grant, not by a role.
-- name: rule
-- gives: is_on keep triggers
SELECT r.is_on, r.keep, (
    SELECT IF(COUNT(*) = 0 AND r.is_on = 1 AND {sees_no_triggers}, NULL, COUNT(*))
    FROM information_schema.triggers t WHERE {is_ours})
FROM {prefix}grant_history_rule r WHERE r.id = 1;

-- The columns of row h, in the order of history_store.cpp.
-- fragment: grant
h.lock_key, h.token, h.kind, h.mode, h.permits, h.node_info, h.metadata, {since h.ended_at},
h.held_for, h.ending

-- $1 the first key that may be listed, $2 the first after all that have the prefix, $3 how long ago
-- at most, $4 limit. Index: grant_history_ended, from its end. Reads: 1 row for each that has ended
-- since, with the prefix or not, until there are enough.
-- name: list
-- gives: key token kind mode permits node_info metadata ended_ago held_for ending
SELECT {grant}
FROM {prefix}grant_history h FORCE INDEX ({bare}grant_history_ended)
WHERE h.ended_at >= {utc} - $3 AND h.lock_key >= $1 AND h.lock_key < $2
ORDER BY h.ended_at DESC LIMIT $4;

-- $1 key, $2 how long ago at most, $3 limit. Index: the primary key, from its end. Reads: 1 row for
-- each.
-- name: list_of
-- gives: @list
SELECT {grant}
FROM {prefix}grant_history h FORCE INDEX (PRIMARY)
WHERE h.lock_key = $1 AND h.ended_at >= {utc} - $2
ORDER BY h.lock_key DESC, h.token DESC LIMIT $3;
