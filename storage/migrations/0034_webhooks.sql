-- Endpoints of clients that are sent events.
CREATE TABLE webhook_endpoints (
  id              BLOB    NOT NULL PRIMARY KEY CHECK (length(id) = 16),
  tenant          TEXT    NOT NULL,
  key_id          TEXT    NOT NULL,  -- api_keys.id; when that key ends, the endpoint is disabled
  url             TEXT    NOT NULL,
  on_request      INTEGER NOT NULL DEFAULT 0,  -- 1: made by a request that names the URL; sent only such jobs
  events          TEXT    NOT NULL,  -- names, separated by spaces; empty: all
  kinds           TEXT    NOT NULL,  -- the same
  status          INTEGER NOT NULL,  -- schemas::WebhookStatus
  reason          TEXT    NOT NULL,  -- why it is disabled
  secret          BLOB    NOT NULL,  -- sealed: the HMAC key and the Ed25519 seed
  public_key      BLOB    NOT NULL,
  previous_secret BLOB,              -- the one before the last rotation
  previous_key    BLOB,
  previous_until  INTEGER,           -- steady time until which it signs, too
  enabled_at      INTEGER NOT NULL,  -- steady time since which it is enabled
  pending         INTEGER NOT NULL DEFAULT 0,  -- its pending rows in webhook_deliveries
  created_at      INTEGER NOT NULL,
  delivered_at    INTEGER            -- the last success
) STRICT, WITHOUT ROWID;
CREATE INDEX webhook_endpoints_listed ON webhook_endpoints (tenant, id);
CREATE INDEX webhook_endpoints_live ON webhook_endpoints (status, id);
-- Jobs whose requests name a URL, until they end.
CREATE TABLE webhook_requests (
  job      BLOB NOT NULL PRIMARY KEY CHECK (length(job) = 16),
  endpoint BLOB NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX webhook_requests_of ON webhook_requests (endpoint);
-- One row. While nothing is enabled, the end of a job reads only this.
CREATE TABLE webhook_state (
  one     INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
  enabled INTEGER NOT NULL  -- number of enabled endpoints
) STRICT, WITHOUT ROWID;
INSERT INTO webhook_state (one, enabled) VALUES (1, 0);
-- Events that are sent to an endpoint: the outbox, and afterwards the log.
CREATE TABLE webhook_deliveries (
  id           BLOB    NOT NULL PRIMARY KEY CHECK (length(id) = 16),  -- the header webhook-id
  endpoint     BLOB    NOT NULL,
  tenant       TEXT    NOT NULL,
  subject      TEXT    NOT NULL,  -- id of the job, batch or machine
  seq          INTEGER NOT NULL,  -- order of the events of a subject at this endpoint
  type         TEXT    NOT NULL,
  payload      TEXT    NOT NULL,
  state        INTEGER NOT NULL,  -- schemas::DeliveryState
  created_at   INTEGER NOT NULL,
  since        INTEGER NOT NULL,  -- steady time from which its retries count
  next_at      INTEGER NOT NULL,  -- steady time of the next attempt; of a running one: the end of its lease
  lease_until  INTEGER NOT NULL DEFAULT 0,  -- steady time; 0: no attempt is running
  claims       INTEGER NOT NULL DEFAULT 0,  -- grows with each attempt: fences the outcomes of earlier ones
  attempts     INTEGER NOT NULL DEFAULT 0,  -- since it was made or sent again by its owner
  http_status  INTEGER,
  error        TEXT,
  attempted_at INTEGER,
  ended_at     INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (endpoint, next_at) WHERE state = 0;
CREATE INDEX webhook_deliveries_order ON webhook_deliveries (endpoint, subject, seq);
CREATE INDEX webhook_deliveries_waiting ON webhook_deliveries (endpoint, subject, seq) WHERE state = 0;
CREATE INDEX webhook_deliveries_listed ON webhook_deliveries (endpoint, id);
CREATE INDEX webhook_deliveries_old ON webhook_deliveries (created_at);
-- Keys of administrators have the new rights, too.
UPDATE api_keys SET scopes = scopes || ' webhooks:read webhooks:write' WHERE ' ' || scopes || ' ' LIKE '% admin %';
