-- Several hosts on one database (store.url): the living processes, the host that does maintenance, and where machines
-- and their jobs run.
CREATE TABLE processes (
  id            BLOB    NOT NULL PRIMARY KEY CHECK (length(id) = 16),
  host          TEXT    NOT NULL,
  data_dir      BLOB    NOT NULL,  -- DATA/host-id
  version       TEXT    NOT NULL,
  serves_api    INTEGER NOT NULL,
  calls_models  INTEGER NOT NULL,
  runs_machines INTEGER NOT NULL,
  started_at    INTEGER NOT NULL,
  seen_boot     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE leases (
  name  TEXT    NOT NULL PRIMARY KEY,
  host  TEXT    NOT NULL,
  until INTEGER NOT NULL  -- boot ms
) STRICT, WITHOUT ROWID;

-- NULL: of the only host, or not placed yet; '': any host; else a name in `processes`.
ALTER TABLE machines ADD COLUMN host TEXT;
-- That of the job's machine.
ALTER TABLE jobs ADD COLUMN host TEXT;
CREATE INDEX jobs_of_hosts ON jobs (kind, host, tenant, priority DESC, id)
  WHERE status = 0 AND run_at = 0 AND host IS NOT NULL;
