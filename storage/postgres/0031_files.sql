CREATE TABLE files (
  id         bytea NOT NULL PRIMARY KEY,
  tenant     text COLLATE "C" NOT NULL,
  key_id     text COLLATE "C",
  purpose    text COLLATE "C" NOT NULL,
  name       text COLLATE "C" NOT NULL,
  blob       bigint NOT NULL,
  created_at bigint NOT NULL,
  expires_at bigint
);
CREATE INDEX files_listed ON files (tenant, id);
CREATE INDEX files_of_purpose ON files (tenant, purpose, id);
CREATE INDEX files_expiring ON files (expires_at) WHERE expires_at IS NOT NULL;
UPDATE api_keys SET scopes = scopes || ' files:read files:write' WHERE ' ' || scopes || ' ' LIKE '% admin %';
