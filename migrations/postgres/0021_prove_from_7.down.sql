-- Takes back 0021.
DROP FUNCTION IF EXISTS {prefix}prove(text, text, bigint);
DROP FUNCTION IF EXISTS {prefix}prove_job(bigint, bigint);
