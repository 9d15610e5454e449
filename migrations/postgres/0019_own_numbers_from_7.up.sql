-- Numbers that somebody has written by hand into the tables of the library's own, and with which no
-- new key could be locked and no clean-up could go on. They are refused from now on. A mark that is
-- no such number becomes 2^61, which counting does not reach; the others begin again.
UPDATE {prefix}fence_mark SET fence = 2305843009213693952
 WHERE fence NOT BETWEEN 0 AND 4611686018427387904;
ALTER TABLE {prefix}fence_mark ADD CONSTRAINT {bare}fence_mark_in_range CHECK (
    fence BETWEEN 0 AND 4611686018427387904);
UPDATE {prefix}upkeep SET turn = 0, unfinished = 0, passes = 0
 WHERE NOT (turn BETWEEN 0 AND 4611686018427387904 AND unfinished BETWEEN 0 AND 4611686018427387904
            AND passes BETWEEN 0 AND 4611686018427387904);
ALTER TABLE {prefix}upkeep ADD CONSTRAINT {bare}upkeep_numbers_in_range CHECK (
    turn BETWEEN 0 AND 4611686018427387904 AND unfinished BETWEEN 0 AND 4611686018427387904
    AND passes BETWEEN 0 AND 4611686018427387904);
UPDATE {prefix}grant_history_rule SET is_on = 0, keep = 2592000000000
 WHERE NOT (is_on BETWEEN 0 AND 1 AND keep BETWEEN 0 AND 3162240000000000);
ALTER TABLE {prefix}grant_history_rule ADD CONSTRAINT {bare}grant_history_rule_in_range CHECK (
    is_on BETWEEN 0 AND 1 AND keep BETWEEN 0 AND 3162240000000000);
