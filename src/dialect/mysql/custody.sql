-- Words on a hold, requests to let go, and moving it, on MySQL and MariaDB. The rules of
-- lock.sql.

-- $1 key, $2 owner, $3 token, $4 words or null. The pre-check keeps words that come too late from
-- waiting behind the next holder's proof. The report asks the row itself, because words that stay
-- the same are not counted as a change.
-- name: set_words
SELECT COUNT(*) INTO @leasehold_go FROM {prefix}lock l
WHERE l.lock_key = $1 AND l.owner = $2 AND l.fence = $3;
UPDATE {prefix}lock l SET l.metadata = $4
WHERE l.lock_key = $1 AND @leasehold_go = 1 AND l.owner = $2 AND l.fence = $3;
SELECT 1 FROM {prefix}lock l
WHERE l.lock_key = $1 AND l.owner = $2 AND l.fence = $3 AND @leasehold_go = 1;

-- $1 key.
-- name: look
SELECT l.lock_key, l.fence, 1, {rest_of_hold}
FROM {prefix}lock l LEFT JOIN {prefix}session s ON s.id = l.session_id
WHERE l.lock_key = $1 AND l.owner IS NOT NULL AND {unexpired};

-- $1 key. A transaction inside one packet, as `force_release` of lock.sql: the hold is the answer.
-- name: request_revoke
START TRANSACTION;
SELECT COUNT(*) INTO @leasehold_locked FROM {prefix}lock l WHERE l.lock_key = $1 FOR UPDATE;
SELECT COUNT(*), MAX(l.session_id) INTO @leasehold_go, @leasehold_session
FROM {prefix}lock l LEFT JOIN {prefix}session s ON s.id = l.session_id
WHERE l.lock_key = $1 AND l.owner IS NOT NULL AND {unexpired};
SELECT l.lock_key, l.fence, 1, {rest_of_hold}
FROM {prefix}lock l LEFT JOIN {prefix}session s ON s.id = l.session_id
WHERE l.lock_key = $1 AND @leasehold_go = 1;
UPDATE {prefix}lock l SET l.revocations = l.revocations + 1
WHERE l.lock_key = $1 AND @leasehold_go = 1;
UPDATE {prefix}session SET notices = notices + 1
WHERE id = @leasehold_session AND @leasehold_go = 1;
COMMIT;

-- $1 key, $2 owner, $3 token, $4 term in microseconds.
-- As `reenter` of lock.sql: only the holder itself can be told no too early. The expiry comes
-- before the session in the list, which is read from left to right.
-- name: give_term
SELECT COUNT(*) INTO @leasehold_go FROM {prefix}lock l
JOIN {prefix}session s ON s.id = l.session_id
WHERE l.lock_key = $1 AND l.owner = $2 AND l.fence = $3 AND s.expires_at > {now};
UPDATE {prefix}lock l SET l.expires_at = {now} + $4, l.session_id = NULL
WHERE l.lock_key = $1 AND @leasehold_go = 1 AND l.owner = $2 AND l.fence = $3
  AND l.session_id IS NOT NULL
  AND EXISTS (
      SELECT 1 FROM {prefix}session s WHERE s.id = l.session_id AND s.expires_at > {now});
SELECT 1 FROM DUAL WHERE ROW_COUNT() = 1;

-- $1 key, $2 owner, $3 token, $4 from or null, $5 to, $6 node_info.
-- The session it comes from is compared on the row as it is when it is changed, so that of two
-- adopters the second finds the session of the first. Adopting again changes nothing, which the
-- count of affected rows does not tell from a refusal: the report asks the row instead. It is our
-- own session's name that it looks for, and nobody else writes that.
-- name: adopt
SELECT COUNT(*) INTO @leasehold_go FROM {prefix}lock l
JOIN {prefix}session m ON m.id = $5 AND m.expires_at > {now}
WHERE l.lock_key = $1 AND l.owner = $2 AND l.fence = $3
  AND (l.session_id = $5 OR l.session_id <=> $4);
UPDATE {prefix}lock l SET l.session_id = $5, l.expires_at = NULL, l.node_info = $6
WHERE l.lock_key = $1 AND @leasehold_go = 1 AND l.owner = $2 AND l.fence = $3
  AND l.session_id <=> $4
  AND EXISTS (
      SELECT 1 FROM {prefix}session m
      WHERE m.id = $5 AND m.expires_at > {now} AND l.fence >= 0)
  AND (l.expires_at > {now}
       OR EXISTS (
           SELECT 1 FROM {prefix}session s WHERE s.id = l.session_id AND s.expires_at > {now}));
SELECT (SELECT COUNT(*) FROM {prefix}lock l
        WHERE l.lock_key = $1 AND l.owner = $2 AND l.fence = $3 AND l.session_id = $5),
       (SELECT COUNT(*) FROM {prefix}session m WHERE m.id = $5 AND m.expires_at > {now});
