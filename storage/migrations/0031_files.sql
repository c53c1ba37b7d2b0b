-- Files that clients upload once and name in later requests.
CREATE TABLE files (
  id         BLOB    NOT NULL PRIMARY KEY CHECK (length(id) = 16),
  tenant     TEXT    NOT NULL,
  key_id     TEXT,              -- api_keys.id, whose quotas count its bytes, too
  purpose    TEXT    NOT NULL,
  name       TEXT    NOT NULL,
  blob       INTEGER NOT NULL,  -- blobs.id
  created_at INTEGER NOT NULL,
  expires_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX files_listed ON files (tenant, id);
CREATE INDEX files_of_purpose ON files (tenant, purpose, id);
CREATE INDEX files_expiring ON files (expires_at) WHERE expires_at IS NOT NULL;
-- Keys of administrators have the new rights, too.
UPDATE api_keys SET scopes = scopes || ' files:read files:write' WHERE ' ' || scopes || ' ' LIKE '% admin %';
