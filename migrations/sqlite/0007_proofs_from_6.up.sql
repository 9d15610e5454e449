-- How often a hold was proved, or a token admitted, in a cluster with several nodes that are
-- written to: there a proof changes the row it is about. Elsewhere it stays 0.
ALTER TABLE {prefix}lock ADD COLUMN proofs INTEGER NOT NULL DEFAULT 0;
ALTER TABLE {prefix}holder ADD COLUMN proofs INTEGER NOT NULL DEFAULT 0;
ALTER TABLE {prefix}fence_guard ADD COLUMN proofs INTEGER NOT NULL DEFAULT 0;
