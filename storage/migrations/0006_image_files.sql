-- Images that clients fetch by a signed URL, until it expires.
CREATE TABLE image_files (
  id         BLOB    NOT NULL PRIMARY KEY CHECK (length(id) = 16),
  blob       INTEGER NOT NULL,  -- blobs.id
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX image_files_expiring ON image_files (expires_at);
