-- Budgets of tenants and keys (schemas/tenants/budget.h); NULL: none.
ALTER TABLE tenants ADD COLUMN budget TEXT;
ALTER TABLE api_keys ADD COLUMN budget TEXT;

-- What calls to models used on a UTC day. Money is in 10^-9 US dollars. `reserved_nano` is the sum of the reservations
-- of that day, so that a check reads no reservations.
ALTER TABLE daily_usage ADD COLUMN cost_nano INTEGER NOT NULL DEFAULT 0;
ALTER TABLE daily_usage ADD COLUMN reserved_nano INTEGER NOT NULL DEFAULT 0;
ALTER TABLE daily_usage ADD COLUMN requests INTEGER NOT NULL DEFAULT 0;
ALTER TABLE daily_usage ADD COLUMN tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE daily_usage ADD COLUMN audio_ms INTEGER NOT NULL DEFAULT 0;

-- The most that one call of a root job to its model may cost, in 10^-9 US dollars; NULL: unknown.
ALTER TABLE jobs ADD COLUMN call_nano INTEGER;

-- Money that is set aside for the calls of a job or a direct request of an owner with a hard budget (storage/tenants).
CREATE TABLE reservations (
  id         BLOB    NOT NULL PRIMARY KEY,  -- of the job, or of the request
  tenant     TEXT    NOT NULL,
  key_id     TEXT    NOT NULL,
  day        INTEGER NOT NULL,  -- on which it was made; its cost counts for that day
  nano       INTEGER NOT NULL,
  first_nano INTEGER NOT NULL,  -- what a new attempt of the job reserves
  sent_nano  INTEGER NOT NULL,  -- the most that the calls that were sent may cost
  holder     BLOB,              -- the process that answers the request; NULL: a job
  expires_at INTEGER            -- then the request's process is gone and sent_nano is charged; NULL: a job
) STRICT, WITHOUT ROWID;
CREATE INDEX reservations_holder ON reservations (holder) WHERE holder IS NOT NULL;
CREATE INDEX reservations_expiry ON reservations (expires_at) WHERE expires_at IS NOT NULL;
