-- A kind that is paused has no turn: its jobs stay queued. In the row that every claim of the kind reads anyway.
ALTER TABLE turns ADD COLUMN paused_at INTEGER;
-- A worker that was told to drain takes nothing new. Of one incarnation: who starts again under the name works.
ALTER TABLE workers ADD COLUMN draining INTEGER NOT NULL DEFAULT 0;
-- Tokens that wait in the worker's partitions of the kind: JSON, [[partition, tokens], …]. NULL: nothing to tell.
ALTER TABLE worker_slots ADD COLUMN lags TEXT;
