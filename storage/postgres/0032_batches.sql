CREATE TABLE batches (
  id bytea NOT NULL PRIMARY KEY,
  tenant text COLLATE "C" NOT NULL,
  key_id text COLLATE "C" NOT NULL,
  shape bigint NOT NULL,
  status bigint NOT NULL,
  endpoint text COLLATE "C" NOT NULL,
  model text COLLATE "C",
  input_file bytea,
  input bigint,
  completion_window text COLLATE "C" NOT NULL,
  metadata text COLLATE "C",
  errors text COLLATE "C",
  total bigint NOT NULL DEFAULT 0,
  completed bigint NOT NULL DEFAULT 0,
  failed bigint NOT NULL DEFAULT 0,
  input_tokens bigint NOT NULL DEFAULT 0,
  cached_tokens bigint NOT NULL DEFAULT 0,
  output_tokens bigint NOT NULL DEFAULT 0,
  reasoning_tokens bigint NOT NULL DEFAULT 0,
  cost_max bigint,
  cost bigint NOT NULL DEFAULT 0,
  reserved bigint NOT NULL DEFAULT 0,
  output_seconds bigint,
  output_file bytea,
  error_file bytea,
  created_at bigint NOT NULL,
  expires_at bigint NOT NULL,
  started_at bigint,
  finalizing_at bigint,
  cancelling_at bigint,
  ended_at bigint,
  driver bytea,
  driven_until bigint NOT NULL DEFAULT 0
);
CREATE INDEX batches_listed ON batches (tenant, id);
CREATE INDEX batches_open ON batches (status, id) WHERE status < 4;
CREATE INDEX batches_of_output ON batches (output_file) WHERE status < 4;
CREATE INDEX batches_of_errors ON batches (error_file) WHERE status < 4;
CREATE INDEX batches_to_clear ON batches (id) WHERE ended_at IS NOT NULL AND input IS NOT NULL;
CREATE INDEX batches_ended ON batches (ended_at) WHERE ended_at IS NOT NULL;
CREATE TABLE batch_lines (
  batch bytea NOT NULL,
  line bigint NOT NULL,
  state bigint NOT NULL DEFAULT 0,
  custom_id text COLLATE "C" NOT NULL,
  starts_at bigint NOT NULL,
  bytes bigint NOT NULL,
  job bytea,
  kind bigint,
  cost_max bigint,
  PRIMARY KEY (batch, line)
);
CREATE INDEX batch_lines_by_state ON batch_lines (batch, state, line);
CREATE INDEX batch_lines_of_jobs ON batch_lines (job) WHERE job IS NOT NULL;
CREATE INDEX batch_lines_by_job ON batch_lines (batch, job) WHERE job IS NOT NULL;
CREATE TABLE batch_outputs (
  batch bytea NOT NULL,
  is_error bigint NOT NULL,
  sequence bigint NOT NULL,
  bytes bytea,
  blob bigint,
  hash bigint,
  PRIMARY KEY (batch, is_error, sequence)
);
