-- API keys: never the key itself, only HMAC-SHA-256(pepper, key). Times are wall-clock milliseconds.
CREATE TABLE api_keys (
  id           TEXT    NOT NULL PRIMARY KEY,
  mac          BLOB    NOT NULL CHECK (length(mac) = 32),
  name         TEXT    NOT NULL,
  tenant       TEXT    NOT NULL,
  scopes       TEXT    NOT NULL,  -- separated by single spaces
  created_at   INTEGER NOT NULL,
  expires_at   INTEGER,
  revoked_at   INTEGER,
  last_used_at INTEGER
) STRICT, WITHOUT ROWID;

-- One row. Raised by every change that the guards of other processes must hear of.
CREATE TABLE access_version (
  one     INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
  version INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO access_version (one, version) VALUES (1, 1);
