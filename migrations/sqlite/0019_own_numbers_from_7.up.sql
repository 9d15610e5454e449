-- Numbers that somebody has written by hand into the tables of the library's own, and with which no
-- new key could be locked and no clean-up could go on. They are refused from now on. A mark that is
-- no such number becomes 2^61, which counting does not reach; the others begin again.
UPDATE {prefix}fence_mark SET fence = 2305843009213693952
 WHERE typeof(fence) <> 'integer' OR fence NOT BETWEEN 0 AND 4611686018427387904;
CREATE TRIGGER {prefix}fence_mark_numbers
BEFORE UPDATE OF fence ON {prefix}fence_mark
WHEN typeof(NEW.fence) <> 'integer' OR NEW.fence NOT BETWEEN 0 AND 4611686018427387904
BEGIN SELECT RAISE(ABORT, 'fence: a whole number from 0 on'); END;
UPDATE {prefix}upkeep SET turn = 0, unfinished = 0, passes = 0
 WHERE typeof(turn) <> 'integer' OR turn NOT BETWEEN 0 AND 4611686018427387904
    OR typeof(unfinished) <> 'integer' OR unfinished NOT BETWEEN 0 AND 4611686018427387904
    OR typeof(passes) <> 'integer' OR passes NOT BETWEEN 0 AND 4611686018427387904;
CREATE TRIGGER {prefix}upkeep_numbers
BEFORE UPDATE OF turn, unfinished, passes ON {prefix}upkeep
WHEN typeof(NEW.turn) <> 'integer' OR NEW.turn NOT BETWEEN 0 AND 4611686018427387904
    OR typeof(NEW.unfinished) <> 'integer' OR NEW.unfinished NOT BETWEEN 0 AND 4611686018427387904
    OR typeof(NEW.passes) <> 'integer' OR NEW.passes NOT BETWEEN 0 AND 4611686018427387904
BEGIN SELECT RAISE(ABORT, 'turn, unfinished and passes: whole numbers from 0 on'); END;
UPDATE {prefix}grant_history_rule SET is_on = 0, keep = 2592000000000
 WHERE typeof(is_on) <> 'integer' OR is_on NOT BETWEEN 0 AND 1
    OR typeof(keep) <> 'integer' OR keep NOT BETWEEN 0 AND 3162240000000000;
CREATE TRIGGER {prefix}grant_history_rule_numbers
BEFORE UPDATE OF is_on, keep ON {prefix}grant_history_rule
WHEN typeof(NEW.is_on) <> 'integer' OR NEW.is_on NOT BETWEEN 0 AND 1
    OR typeof(NEW.keep) <> 'integer' OR NEW.keep NOT BETWEEN 0 AND 3162240000000000
BEGIN SELECT RAISE(ABORT, 'is_on: 0 or 1; keep: microseconds, 100 years at most'); END;
