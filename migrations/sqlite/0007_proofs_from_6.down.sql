-- Takes back 0007.
ALTER TABLE {prefix}lock DROP COLUMN proofs;
ALTER TABLE {prefix}holder DROP COLUMN proofs;
ALTER TABLE {prefix}fence_guard DROP COLUMN proofs;
