-- Takes back 0010.
DROP FUNCTION IF EXISTS {prefix}enqueue(
    text, text, text, timestamptz, text, text, integer, integer);
