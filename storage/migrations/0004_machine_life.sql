-- The life of machines, SSH sessions, artifacts, replies of calls with a key, the audit log.

ALTER TABLE machines ADD COLUMN source INTEGER NOT NULL DEFAULT 0;  -- schemas::MachineSource
ALTER TABLE machines ADD COLUMN phase INTEGER NOT NULL DEFAULT 0;   -- schemas::MachinePhase
ALTER TABLE machines ADD COLUMN act BLOB;                           -- the job of kind machine that is under way
ALTER TABLE machines ADD COLUMN settings TEXT NOT NULL DEFAULT '{}';  -- schemas::MachineSettings
ALTER TABLE machines ADD COLUMN limits TEXT NOT NULL DEFAULT '';    -- schemas::MachineFacts
ALTER TABLE machines ADD COLUMN disk TEXT NOT NULL DEFAULT '';
ALTER TABLE machines ADD COLUMN ssh_host TEXT;
ALTER TABLE machines ADD COLUMN ssh_port INTEGER;
ALTER TABLE machines ADD COLUMN ssh_owner BLOB;                     -- workers.incarnation
ALTER TABLE machines ADD COLUMN last_error TEXT NOT NULL DEFAULT '';
ALTER TABLE machines ADD COLUMN progressed_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE machines ADD COLUMN used_at INTEGER NOT NULL DEFAULT 0;  -- autosleep counts from it
UPDATE machines SET source = 2 WHERE is_local = 1;
UPDATE machines SET progressed_at = changed_at, used_at = changed_at, phase = CASE WHEN desired = 2 THEN 6 ELSE 0 END;
-- One that is being destroyed is shown until it is gone.
DROP INDEX machines_listed;
CREATE INDEX machines_listed ON machines (tenant, id) WHERE phase <> 6;
-- Which machine may fall asleep next; and those that are not where they are wanted, without an act under way.
CREATE INDEX machines_drowsy ON machines (used_at + autosleep_seconds * 1000)
  WHERE desired = 0 AND phase = 2 AND act IS NULL AND autosleep_seconds > 0;
CREATE INDEX machines_astray ON machines (progressed_at)
  WHERE act IS NULL AND phase <> 6 AND NOT (desired = 0 AND phase IN (2, 7)) AND NOT (desired = 1 AND phase IN (4, 7));

-- Jobs that wait for their machine to wake are queued with this run_at, which never comes.
CREATE INDEX jobs_waking ON jobs (lane_key, id) WHERE status = 0 AND run_at = 9223372036854775807;
-- What is open on a machine: it does not fall asleep under it.
CREATE INDEX jobs_on_machine ON jobs (lane_key, kind, status) WHERE status < 3 AND lane_key IS NOT NULL;

-- The first reply to a call under /v1/machines that made no job, by its Idempotency-Key (as in `idempotency`).
CREATE TABLE call_replies (
  key         BLOB    NOT NULL PRIMARY KEY,
  fingerprint BLOB    NOT NULL,
  body        BLOB    NOT NULL,
  expires_at  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX call_replies_expiring ON call_replies (expires_at);

-- The serial is the rowid: unique, and rising also after rows went.
CREATE TABLE ssh_sessions (
  serial        INTEGER PRIMARY KEY AUTOINCREMENT,
  id            BLOB    NOT NULL UNIQUE CHECK (length(id) = 16),
  tenant        TEXT    NOT NULL,
  machine       BLOB    NOT NULL,
  status        INTEGER NOT NULL,  -- schemas::SshStatus
  public_key    TEXT    NOT NULL,
  certificate   TEXT,
  endpoint      TEXT,
  port          INTEGER,
  username      TEXT,
  host_pattern  TEXT,
  host_ca       TEXT,
  created_at    INTEGER NOT NULL,
  expires_at    INTEGER NOT NULL,
  ready_at      INTEGER,
  closed_at     INTEGER,
  error_code    TEXT,
  error_message TEXT
) STRICT;
CREATE INDEX ssh_sessions_listed ON ssh_sessions (machine, id);
CREATE INDEX ssh_sessions_waking ON ssh_sessions (machine) WHERE status = 0;
CREATE INDEX ssh_sessions_old ON ssh_sessions (expires_at);
CREATE INDEX ssh_sessions_revoked ON ssh_sessions (expires_at) WHERE status = 2 AND certificate IS NOT NULL;

-- One row: how many sessions with a certificate were closed so far, also of those whose rows are gone.
CREATE TABLE ssh_closes (
  one   INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
  count INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO ssh_closes (one, count) VALUES (1, 0);

CREATE TABLE artifacts (
  id         BLOB    NOT NULL PRIMARY KEY CHECK (length(id) = 16),
  tenant     TEXT    NOT NULL,
  machine    BLOB    NOT NULL,
  job        BLOB    NOT NULL,
  name       TEXT    NOT NULL,
  mime_type  TEXT    NOT NULL,
  blob       INTEGER NOT NULL,  -- blobs.id
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX artifacts_listed ON artifacts (machine, id);
CREATE INDEX artifacts_of ON artifacts (job, id);

-- Append-only. hash = SHA-256 over prev_hash and the row's own fields; the first prev_hash is 32 zero bytes.
CREATE TABLE audit (
  seq       INTEGER PRIMARY KEY AUTOINCREMENT,
  at        INTEGER NOT NULL,
  tenant    TEXT    NOT NULL,
  actor     TEXT    NOT NULL,  -- id of the API key, or a word for the gateway itself
  act       TEXT    NOT NULL,  -- "ssh.issue"
  target    TEXT    NOT NULL,  -- id of what it was done to
  data      TEXT    NOT NULL,  -- a JSON object
  prev_hash BLOB    NOT NULL,
  hash      BLOB    NOT NULL
) STRICT;
