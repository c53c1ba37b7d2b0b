CREATE TABLE webhook_endpoints (
  id              bytea NOT NULL PRIMARY KEY,
  tenant          text COLLATE "C" NOT NULL,
  key_id          text COLLATE "C" NOT NULL,
  url             text COLLATE "C" NOT NULL,
  on_request      bigint NOT NULL DEFAULT 0,
  events          text COLLATE "C" NOT NULL,
  kinds           text COLLATE "C" NOT NULL,
  status          bigint NOT NULL,
  reason          text COLLATE "C" NOT NULL,
  secret          bytea NOT NULL,
  public_key      bytea NOT NULL,
  previous_secret bytea,
  previous_key    bytea,
  previous_until  bigint,
  enabled_at      bigint NOT NULL,
  pending         bigint NOT NULL DEFAULT 0,
  created_at      bigint NOT NULL,
  delivered_at    bigint
);
CREATE INDEX webhook_endpoints_listed ON webhook_endpoints (tenant, id);
CREATE INDEX webhook_endpoints_live ON webhook_endpoints (status, id);
CREATE TABLE webhook_requests (
  job      bytea NOT NULL PRIMARY KEY,
  endpoint bytea NOT NULL
);
CREATE INDEX webhook_requests_of ON webhook_requests (endpoint);
CREATE TABLE webhook_state (
  one     bigint NOT NULL PRIMARY KEY CHECK (one = 1),
  enabled bigint NOT NULL
);
INSERT INTO webhook_state (one, enabled) VALUES (1, 0);
CREATE TABLE webhook_deliveries (
  id           bytea NOT NULL PRIMARY KEY,
  endpoint     bytea NOT NULL,
  tenant       text COLLATE "C" NOT NULL,
  subject      text COLLATE "C" NOT NULL,
  seq          bigint NOT NULL,
  type         text COLLATE "C" NOT NULL,
  payload      text COLLATE "C" NOT NULL,
  state        bigint NOT NULL,
  created_at   bigint NOT NULL,
  since        bigint NOT NULL,
  next_at      bigint NOT NULL,
  lease_until  bigint NOT NULL DEFAULT 0,
  claims       bigint NOT NULL DEFAULT 0,
  attempts     bigint NOT NULL DEFAULT 0,
  http_status  bigint,
  error        text COLLATE "C",
  attempted_at bigint,
  ended_at     bigint
);
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (endpoint, next_at) WHERE state = 0;
CREATE INDEX webhook_deliveries_order ON webhook_deliveries (endpoint, subject, seq);
CREATE INDEX webhook_deliveries_waiting ON webhook_deliveries (endpoint, subject, seq) WHERE state = 0;
CREATE INDEX webhook_deliveries_listed ON webhook_deliveries (endpoint, id);
CREATE INDEX webhook_deliveries_old ON webhook_deliveries (created_at);
UPDATE api_keys SET scopes = scopes || ' webhooks:read webhooks:write' WHERE ' ' || scopes || ' ' LIKE '% admin %';
