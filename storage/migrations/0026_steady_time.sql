-- Jumps of the wall clock (storage/writer/store_clock.h). One row. Steady time is wall time less `jumped_ms`.
CREATE TABLE clock (
  one                  INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
  boot                 INTEGER NOT NULL,  -- the boot of the next three columns
  first_commit_boot_ms INTEGER NOT NULL,  -- its first commit, by CLOCK_BOOTTIME
  offset_ms            INTEGER NOT NULL,  -- wall time less boot time after the last jump
  seen_at              INTEGER NOT NULL,  -- wall time of a recent commit
  jumped_ms            INTEGER NOT NULL,  -- the sum of all jumps
  last_boot_seen_at    INTEGER NOT NULL,  -- the last two at the end of the boot before; 0: there was none
  last_boot_jumped_ms  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO clock VALUES (1, 0, 0, 0, 0, 0, 0, 0);

-- clock.jumped_ms when `deadline` was set, or of an ended job `completed_at`. The steady time of either is the column
-- less `jumped_ms`.
ALTER TABLE jobs ADD COLUMN jumped_ms INTEGER NOT NULL DEFAULT 0;
-- What `run_at` of a queued job is (storage/sql.h, Schedule): 0: of a retry, in steady time; else the client set it.
ALTER TABLE jobs ADD COLUMN schedule INTEGER NOT NULL DEFAULT 0;

-- Deadlines as in 0010, but in steady time. A scheduled job has none before its run_at.
DROP INDEX jobs_deadline;
CREATE INDEX jobs_deadline ON jobs (deadline - jumped_ms)
  WHERE status IN (0, 2) AND parent_id IS NULL AND schedule = 0
    AND (version > 1 OR run_at > 0 OR deadline <> created_at + 86400000);
DROP INDEX jobs_ended;
CREATE INDEX jobs_ended ON jobs (stripped, completed_at - jumped_ms) WHERE status >= 3 AND parent_id IS NULL;
DROP INDEX jobs_delayed;
CREATE INDEX jobs_delayed ON jobs (schedule, kind, run_at, status) WHERE status = 0 AND run_at > 0;
