-- Files that clients upload in parts. status: 0 pending, 1 completed, 2 cancelled, 3 expired.
CREATE TABLE uploads (
  id           BLOB    NOT NULL PRIMARY KEY CHECK (length(id) = 16),
  tenant       TEXT    NOT NULL,
  key_id       TEXT,              -- api_keys.id, whose quotas count the parts and the file
  purpose      TEXT    NOT NULL,
  name         TEXT    NOT NULL,
  bytes        INTEGER NOT NULL,  -- of the whole file, as announced
  file_life_ms INTEGER,           -- of the file, from its creation; NULL: it is kept
  status       INTEGER NOT NULL,
  parts        INTEGER NOT NULL,  -- how many have arrived while it was pending
  parts_bytes  INTEGER NOT NULL,  -- of these, together
  file         BLOB,              -- files.id, once it is completed
  created_at   INTEGER NOT NULL,
  expires_at   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX uploads_pending ON uploads (tenant, expires_at) WHERE status = 0;
CREATE INDEX uploads_expiring ON uploads (expires_at) WHERE status = 0;
CREATE INDEX uploads_ended ON uploads (expires_at) WHERE status <> 0;
CREATE TABLE upload_parts (
  id         BLOB    NOT NULL PRIMARY KEY CHECK (length(id) = 16),
  upload     BLOB    NOT NULL,  -- uploads.id
  blob       INTEGER NOT NULL,  -- blobs.id
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX upload_parts_of_upload ON upload_parts (upload, blob);
