-- Machines, secrets of open jobs, and the list of a lane.

-- A destroyed machine keeps its row, which no read shows: its number, and so its uid, is never given again, and the
-- store remembers that it once made the tenant's `local`.
CREATE TABLE machines (
  id                BLOB    NOT NULL PRIMARY KEY CHECK (length(id) = 16),
  tenant            TEXT    NOT NULL,
  name              TEXT    NOT NULL,
  driver            INTEGER NOT NULL,  -- schemas::MachineDriver
  vcpu              REAL    NOT NULL,
  memory_mib        INTEGER NOT NULL,
  storage_gib       INTEGER NOT NULL,
  autosleep_seconds INTEGER NOT NULL,  -- 0: never
  desired           INTEGER NOT NULL,  -- schemas::MachineState: 2 destroyed
  number            INTEGER NOT NULL UNIQUE CHECK (number > 0),
  is_local          INTEGER NOT NULL DEFAULT 0,  -- 1: the one that the store made by itself
  revision          INTEGER NOT NULL DEFAULT 1,
  created_at        INTEGER NOT NULL,
  changed_at        INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX machines_listed ON machines (tenant, id) WHERE desired < 2;
CREATE UNIQUE INDEX machines_local ON machines (tenant) WHERE is_local = 1;

-- Sealed bytes of a job of a kind that keeps some, from its accept until its end. What is deleted is overwritten in
-- its page (secure_delete); the log holds older pages until it is begun again, hence sealed.
CREATE TABLE job_secrets (
  job    BLOB NOT NULL PRIMARY KEY,
  sealed BLOB NOT NULL
) STRICT, WITHOUT ROWID;

-- Jobs of a lane, newest first. A job without one, as every OCR job is, has no entry.
CREATE INDEX jobs_lane ON jobs (lane_key, id) WHERE lane_key IS NOT NULL AND parent_id IS NULL;
