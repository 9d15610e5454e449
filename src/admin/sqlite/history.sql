-- The grants and how they ended, on SQLite. Triggers write each row in the commit that ends its
-- grant, whichever program makes that commit, and there is no cost where there are no triggers.
-- Times of locks are of the boot's clock; here they are of the machine's.

-- name: drop_grant_trigger
DROP TRIGGER IF EXISTS {prefix}grant_ended;

-- name: drop_share_trigger
DROP TRIGGER IF EXISTS {prefix}share_ended;

-- name: drop_replace_trigger
DROP TRIGGER IF EXISTS {prefix}share_replaced;

-- The machine's clock: a trigger has no parameters.
-- fragment: its_wall
CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER)

-- True while the holds of another boot are being cleared away: see boot.sql. Nobody knows when
-- those ended.
-- fragment: is_boot
(SELECT boot_id FROM {prefix}fence_mark WHERE id = 1) = ''

-- For row lock, which its owner has lost. A holder whose session, or term, is over lost the key at
-- that moment, no matter when a program finds out. Reads: 2 rows, by primary key.
-- name: grant_trigger
CREATE TRIGGER {prefix}grant_ended AFTER UPDATE OF owner ON {prefix}lock FOR EACH ROW
WHEN OLD.owner IS NOT NULL AND (NEW.owner IS NULL OR NEW.fence <> OLD.fence)
BEGIN
    INSERT OR REPLACE INTO {prefix}grant_history
        (lock_key, token, kind, mode, permits, node_info, metadata, ended_at, held_for, ending)
    SELECT OLD.lock_key, OLD.fence, OLD.kind, 2, 0, OLD.node_info, OLD.metadata,
           {its_wall} - CASE WHEN how = 2 AND NOT is_boot THEN NEW.changed_at - dies_at ELSE 0 END,
           CASE WHEN NOT is_boot
                THEN CASE how WHEN 2 THEN dies_at ELSE NEW.changed_at END - OLD.changed_at END,
           how
      FROM (SELECT dies_at, is_boot,
                   CASE WHEN is_boot THEN 2
                        WHEN NEW.owner IS NULL AND NEW.fence > OLD.fence THEN 3
                        WHEN dies_at <= NEW.changed_at THEN 2
                        ELSE 1 END AS how
              FROM (SELECT coalesce(OLD.expires_at, (
                               SELECT s.expires_at FROM {prefix}session s
                                WHERE s.id = OLD.session_id)) AS dies_at,
                           {is_boot} AS is_boot));
END;

-- For a holder row that was deleted, or replaced under another fence. The header tells the hold's
-- kind; a place at a latch or a barrier is no grant, and is not written. A forced release ended the
-- grants older than the fence it left. A trigger cannot read the boot's clock. It takes the
-- machine's clock, which SQLite tells in milliseconds, less the offset that the rule's row has for
-- this boot. The offset is exact to a hundredth of a second, so a holder whose session ends within
-- two of these counts as dead already. If the row has no offset, or the machine's clock was set
-- back since by more than the hold's length, the length is unknown. Reads: 5 rows, by primary key.
-- fragment: write_share
    INSERT OR REPLACE INTO {prefix}grant_history
        (lock_key, token, kind, mode, permits, node_info, metadata, ended_at, held_for, ending)
    SELECT OLD.lock_key, OLD.fence, kind, OLD.mode & 7,
           CASE kind WHEN 3 THEN OLD.permits ELSE 0 END, OLD.node_info, NULL,
           {its_wall} - CASE how WHEN 2 THEN coalesce(max(now - dies_at, 0), 0) ELSE 0 END,
           CASE WHEN now + 20000 >= OLD.granted_at
                THEN max(CASE how WHEN 2 THEN dies_at ELSE now END - OLD.granted_at, 0) END,
           how
      FROM (SELECT kind, dies_at, now,
                   CASE WHEN is_boot OR dies_at <= now + 20000 THEN 2
                        WHEN OLD.fence < forced THEN 3
                        WHEN is_replaced THEN 4
                        ELSE 1 END AS how
              FROM (SELECT l.kind, l.forced, {is_boot} AS is_boot,
                           (SELECT s.expires_at FROM {prefix}session s
                             WHERE s.id = OLD.session_id) AS dies_at,
                           (SELECT {its_wall} - r.clock_offset FROM {prefix}grant_history_rule r
                             WHERE r.id = 1 AND r.boot_id = m.boot_id) AS now,
                           EXISTS (SELECT 1 FROM {prefix}holder h
                                    WHERE h.lock_key = OLD.lock_key AND h.owner = OLD.owner)
                               AS is_replaced
                      FROM {prefix}lock l, {prefix}fence_mark m
                     WHERE l.lock_key = OLD.lock_key AND l.kind IN (2, 3) AND m.id = 1));

-- name: share_trigger
CREATE TRIGGER {prefix}share_ended AFTER DELETE ON {prefix}holder FOR EACH ROW
WHEN OLD.fence > 0
BEGIN
{write_share};
END;

-- name: replace_trigger
CREATE TRIGGER {prefix}share_replaced AFTER UPDATE OF fence ON {prefix}holder FOR EACH ROW
WHEN OLD.fence > 0 AND NEW.fence <> OLD.fence
BEGIN
{write_share};
END;

-- $1 whether it is written from now on, $2 for how long it is kept, or null: as before.
-- name: set_rule
UPDATE {prefix}grant_history_rule
   SET is_on = $1, keep = coalesce($2, keep), clock_offset = {wall} - {now}, boot_id = {boot}
 WHERE id = 1;

-- The last column counts those of the three triggers that are there.
-- name: rule
-- gives: is_on keep triggers
SELECT r.is_on, r.keep,
       (SELECT count(*) FROM sqlite_master
         WHERE type = 'trigger'
           AND name IN ('{prefix}grant_ended', '{prefix}share_ended', '{prefix}share_replaced'))
  FROM {prefix}grant_history_rule r WHERE r.id = 1;

-- The columns of row h, in the order of history_store.cpp.
-- fragment: grant
h.lock_key, CAST(h.token AS INTEGER), CAST(h.kind AS INTEGER), CAST(h.mode AS INTEGER),
CAST(h.permits AS INTEGER), h.node_info, h.metadata, CAST({wall} - h.ended_at AS INTEGER),
CAST(h.held_for AS INTEGER), CAST(h.ending AS INTEGER)

-- $1 the first key that may be listed, $2 the first after all that have the prefix, $3 how long ago
-- at most, $4 limit. Index: grant_history_ended, from its end. Reads: 1 row for each that has ended
-- since, with the prefix or not, until there are enough.
-- name: list
-- gives: key token kind mode permits node_info metadata ended_ago held_for ending
SELECT {grant}
  FROM {prefix}grant_history h INDEXED BY {prefix}grant_history_ended
 WHERE h.ended_at >= {wall} - $3 AND h.lock_key >= $1 AND h.lock_key < $2
 ORDER BY h.ended_at DESC
 LIMIT $4;

-- $1 key, $2 how long ago at most, $3 limit. Index: the primary key, from its end. Reads: 1 row for
-- each.
-- name: list_of
-- gives: @list
SELECT {grant}
  FROM {prefix}grant_history h
 WHERE h.lock_key = $1 AND +h.ended_at >= {wall} - $2
 ORDER BY h.token DESC
 LIMIT $3;
