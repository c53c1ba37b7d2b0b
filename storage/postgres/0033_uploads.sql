CREATE TABLE uploads (
  id           bytea NOT NULL PRIMARY KEY,
  tenant       text COLLATE "C" NOT NULL,
  key_id       text COLLATE "C",
  purpose      text COLLATE "C" NOT NULL,
  name         text COLLATE "C" NOT NULL,
  bytes        bigint NOT NULL,
  file_life_ms bigint,
  status       bigint NOT NULL,
  parts        bigint NOT NULL,
  parts_bytes  bigint NOT NULL,
  file         bytea,
  created_at   bigint NOT NULL,
  expires_at   bigint NOT NULL
);
CREATE INDEX uploads_pending ON uploads (tenant, expires_at) WHERE status = 0;
CREATE INDEX uploads_expiring ON uploads (expires_at) WHERE status = 0;
CREATE INDEX uploads_ended ON uploads (expires_at) WHERE status <> 0;
CREATE TABLE upload_parts (
  id         bytea NOT NULL PRIMARY KEY,
  upload     bytea NOT NULL,
  blob       bigint NOT NULL,
  created_at bigint NOT NULL
);
CREATE INDEX upload_parts_of_upload ON upload_parts (upload, blob);
