-- Many requests in one input, and what became of each.
CREATE TABLE batches (
  id               BLOB    NOT NULL PRIMARY KEY CHECK (length(id) = 16),
  tenant           TEXT    NOT NULL,
  key_id           TEXT    NOT NULL,   -- api_keys.id, in whose name the lines are sent
  shape            INTEGER NOT NULL,   -- schemas::BatchShape
  status           INTEGER NOT NULL,   -- schemas::BatchStatus
  endpoint         TEXT    NOT NULL,
  model            TEXT,
  input_file       BLOB,               -- files.id
  input            INTEGER,            -- blobs.id; NULL: the batch is over
  completion_window TEXT   NOT NULL,
  metadata         TEXT,
  errors           TEXT,
  total            INTEGER NOT NULL DEFAULT 0,
  completed        INTEGER NOT NULL DEFAULT 0,
  failed           INTEGER NOT NULL DEFAULT 0,
  input_tokens     INTEGER NOT NULL DEFAULT 0,
  cached_tokens    INTEGER NOT NULL DEFAULT 0,
  output_tokens    INTEGER NOT NULL DEFAULT 0,
  reasoning_tokens INTEGER NOT NULL DEFAULT 0,
  cost_max         INTEGER,            -- schemas::NanoUsd, like the next two
  cost             INTEGER NOT NULL DEFAULT 0,
  reserved         INTEGER NOT NULL DEFAULT 0,  -- for the lines that are jobs now, if cost_max is set
  output_seconds   INTEGER,
  output_file      BLOB,               -- files.id, like the next one
  error_file       BLOB,
  created_at       INTEGER NOT NULL,
  expires_at       INTEGER NOT NULL,
  started_at       INTEGER,
  finalizing_at    INTEGER,
  cancelling_at    INTEGER,
  ended_at         INTEGER,
  driver           BLOB,               -- the process that runs it until driven_until
  driven_until     INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE INDEX batches_listed ON batches (tenant, id);
CREATE INDEX batches_open ON batches (status, id) WHERE status < 4;
CREATE INDEX batches_of_output ON batches (output_file) WHERE status < 4;
CREATE INDEX batches_of_errors ON batches (error_file) WHERE status < 4;
CREATE INDEX batches_to_clear ON batches (id) WHERE ended_at IS NOT NULL AND input IS NOT NULL;
CREATE INDEX batches_ended ON batches (ended_at) WHERE ended_at IS NOT NULL;
CREATE TABLE batch_lines (
  batch     BLOB    NOT NULL,
  line      INTEGER NOT NULL,            -- from 1, as in the input
  state     INTEGER NOT NULL DEFAULT 0,  -- storage::LineState
  custom_id TEXT    NOT NULL,
  starts_at INTEGER NOT NULL,            -- its place in the input, in bytes, like the next one
  bytes     INTEGER NOT NULL,
  job       BLOB,                        -- jobs.id
  kind      INTEGER,                     -- jobs.kind
  cost_max  INTEGER,
  PRIMARY KEY (batch, line)
) STRICT, WITHOUT ROWID;
CREATE INDEX batch_lines_by_state ON batch_lines (batch, state, line);
CREATE INDEX batch_lines_of_jobs ON batch_lines (job) WHERE job IS NOT NULL;
CREATE INDEX batch_lines_by_job ON batch_lines (batch, job) WHERE job IS NOT NULL;
CREATE TABLE batch_outputs (
  batch    BLOB    NOT NULL,
  is_error INTEGER NOT NULL,  -- 1: of the error file
  sequence INTEGER NOT NULL,  -- in the order of completion
  bytes    BLOB,              -- a line; NULL: it is a blob
  blob     INTEGER,           -- blobs.id
  hash     INTEGER,           -- XXH3 of bytes
  PRIMARY KEY (batch, is_error, sequence)
) STRICT;
