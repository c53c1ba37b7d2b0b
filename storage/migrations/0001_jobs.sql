-- Jobs, from acceptance to retention. Times are wall-clock milliseconds, but leases and what workers report are
-- CLOCK_BOOTTIME milliseconds of the boot in the column beside them. Ids are the 16 bytes of a UUIDv7: rows made
-- one after the other lie one after the other.
--
-- What one accept writes: the jobs row with three index entries (ready, deadline, tenant), the spec row, and the
-- idempotency row if a key was sent. The event `queued` (version 1) is not stored: it is the row's created_at.

-- The hot row. It holds numbers and short names only: payloads are in job_specs and job_results, named by rowid,
-- so that they are appended to their tables and need no index of their own. Zero and NULL take no space.
CREATE TABLE jobs (
  id               BLOB    NOT NULL PRIMARY KEY CHECK (length(id) = 16),
  tenant           TEXT    NOT NULL,
  kind             INTEGER NOT NULL,  -- schemas::Kind
  status           INTEGER NOT NULL,  -- schemas::JobStatus: 0 queued 1 running 2 waiting, terminal from 3 on
  priority         INTEGER NOT NULL,
  rerun            INTEGER NOT NULL,  -- schemas::Rerun: 1 is at-most-once
  run_at           INTEGER NOT NULL DEFAULT 0,  -- queued: 0 ready, else the time of the retry
  deadline         INTEGER NOT NULL,
  created_at       INTEGER NOT NULL,
  model            TEXT    NOT NULL,
  lane_key         TEXT,
  spec             INTEGER,           -- job_specs.id
  input            INTEGER,           -- blobs.id; a child uses its parent's
  result           INTEGER,           -- job_results.id
  retry_of         BLOB,
  idempotency      BLOB,              -- idempotency.key that made this job
  parent_id        BLOB,
  child_index      INTEGER NOT NULL DEFAULT 0,
  children         INTEGER NOT NULL DEFAULT 0,  -- made by the split
  children_left    INTEGER NOT NULL DEFAULT 0,  -- not terminal yet
  epoch            INTEGER NOT NULL DEFAULT 1,  -- numbers the publications
  published_at     INTEGER NOT NULL DEFAULT 0,  -- queued: 0 not published
  attempt          INTEGER NOT NULL DEFAULT 0,  -- claims
  spared           INTEGER NOT NULL DEFAULT 0,  -- of these: ended by a drain or a split, which cost nothing
  crashes          INTEGER NOT NULL DEFAULT 0,
  losses           INTEGER NOT NULL DEFAULT 0,
  token            BLOB,              -- of the lease; stays when its owner ended the job, so that he may repeat it
  worker           TEXT,
  lease_boot       INTEGER NOT NULL DEFAULT 0,  -- which boot lease_until counts in
  lease_until      INTEGER NOT NULL DEFAULT 0,
  cancel_requested INTEGER NOT NULL DEFAULT 0,
  progress_done    INTEGER NOT NULL DEFAULT 0,
  progress_total   INTEGER NOT NULL DEFAULT 0,
  version          INTEGER NOT NULL DEFAULT 1,  -- of the newest event
  started_at       INTEGER,
  completed_at     INTEGER,
  error_code       TEXT,
  error_message    TEXT,
  stripped         INTEGER NOT NULL DEFAULT 0   -- 1: retention took result, parts and a succeeded job's input
) STRICT, WITHOUT ROWID;

-- The claim order: the head of the next tenant is one seek. The last two columns are constants that take a byte each:
-- with them SQLite answers from the index alone, also when it counts a backlog.
CREATE INDEX jobs_ready ON jobs (kind, tenant, priority DESC, id, status, run_at) WHERE status = 0 AND run_at = 0;
-- Lists: newest first by tenant. At a million jobs a scan of the primary key would make a small tenant wait for
-- all the others' rows.
CREATE INDEX jobs_listed ON jobs (tenant, id) WHERE parent_id IS NULL;
-- Deadlines. Nearly all jobs of a kind share one deadline_after, so an entry is appended at the right edge and
-- taken away near it or at the left one: no scattered pages. A sweep would save that and pay with a scan of the whole
-- backlog, late answers, and no next due time for the upkeep timer. Children have no entry: they go with their parent,
-- whose deadline is theirs.
CREATE INDEX jobs_deadline ON jobs (deadline) WHERE status IN (0, 2) AND parent_id IS NULL;
-- Retries that wait for their time: few.
CREATE INDEX jobs_delayed ON jobs (run_at, kind) WHERE status = 0 AND run_at > 0;
-- Leases: as many entries as jobs run. Also answers which jobs a worker holds.
CREATE INDEX jobs_running ON jobs (lease_boot, lease_until, worker, kind, status) WHERE status = 1;
CREATE INDEX jobs_waiting ON jobs (kind) WHERE status = 2;
-- The window of the outbox: as many entries as tokens are out.
CREATE INDEX jobs_published ON jobs (kind, published_at) WHERE status = 0 AND published_at > 0;
CREATE UNIQUE INDEX jobs_children ON jobs (parent_id, child_index) WHERE parent_id IS NOT NULL;
-- Terminal parents whose children still have to be cancelled: hardly any.
CREATE INDEX jobs_orphaning ON jobs (completed_at) WHERE status >= 3 AND children_left > 0;
-- Retention: written once at the end of a root job, in time order.
CREATE INDEX jobs_ended ON jobs (stripped, completed_at) WHERE status >= 3 AND parent_id IS NULL;

CREATE TABLE job_specs (
  id          INTEGER PRIMARY KEY,
  traceparent TEXT,
  bytes       BLOB,     -- JSON, at most 32 KiB, or
  blob        INTEGER   -- blobs.id
) STRICT;

CREATE TABLE job_results (
  id    INTEGER PRIMARY KEY,
  bytes BLOB,
  blob  INTEGER
) STRICT;

-- Parts (pages) of a root job, written by itself or by its children.
CREATE TABLE job_parts (
  id         INTEGER PRIMARY KEY,
  root       BLOB    NOT NULL,
  part_index INTEGER NOT NULL,
  bytes      BLOB,
  blob       INTEGER,
  UNIQUE (root, part_index)
) STRICT;

-- What happened to root jobs, from version 2 on, without gaps.
CREATE TABLE job_events (
  job     BLOB    NOT NULL,
  version INTEGER NOT NULL,
  at      INTEGER NOT NULL,
  type    TEXT    NOT NULL,
  data    TEXT    NOT NULL,
  PRIMARY KEY (job, version)
) STRICT, WITHOUT ROWID;

-- The key is a hash of (tenant, method, path, key). A row lives at least as long as its job: expires_at is set
-- when retention takes a job row younger than a day after its end, and only then is there an index entry.
CREATE TABLE idempotency (
  key         BLOB    NOT NULL PRIMARY KEY,
  fingerprint BLOB    NOT NULL,
  job         BLOB    NOT NULL,
  kind        INTEGER NOT NULL,
  ended       INTEGER,  -- status in which the job was when its row went
  expires_at  INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX idempotency_expiring ON idempotency (expires_at) WHERE expires_at IS NOT NULL;

-- Publications under way: (job, epoch) marked as published and not yet reported as delivered. A queued job outside
-- the window has no row: its published_at = 0 says the same, and a backlog of a million jobs costs nothing here.
CREATE TABLE outbox (
  job       BLOB    NOT NULL PRIMARY KEY,
  epoch     INTEGER NOT NULL,
  marked_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Whose turn it is, per kind: the tenant served last. In the store, because several processes claim and publish.
CREATE TABLE turns (
  kind   INTEGER NOT NULL,
  use    INTEGER NOT NULL,  -- 0 claims, 1 publications
  tenant TEXT    NOT NULL,
  PRIMARY KEY (kind, use)
) STRICT, WITHOUT ROWID;

-- sha256 first: a file's name gives its hash but not its tenant.
CREATE TABLE blobs (
  id     INTEGER PRIMARY KEY,
  sha256 BLOB    NOT NULL,
  tenant TEXT    NOT NULL,
  path   TEXT    NOT NULL,
  bytes  INTEGER NOT NULL,
  refs   INTEGER NOT NULL CHECK (refs >= 0),
  UNIQUE (sha256, tenant)
) STRICT;
CREATE INDEX blobs_unreferenced ON blobs (id) WHERE refs = 0;

CREATE TABLE workers (
  name        TEXT    NOT NULL PRIMARY KEY,
  incarnation BLOB    NOT NULL,
  host        TEXT    NOT NULL,
  version     TEXT    NOT NULL,
  boot        INTEGER NOT NULL,  -- which boot seen_boot counts in
  seen_boot   INTEGER NOT NULL,
  seen_at     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE worker_slots (
  worker     TEXT    NOT NULL,
  kind       INTEGER NOT NULL,
  slots      INTEGER NOT NULL,
  used       INTEGER NOT NULL,
  free_since INTEGER,  -- boot clock; NULL: none is free
  PRIMARY KEY (worker, kind)
) STRICT, WITHOUT ROWID;
