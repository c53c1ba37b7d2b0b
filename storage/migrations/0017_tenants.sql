-- Limits of tenants and keys, and what they use (storage/tenants). A tenant without a row has the default limits.
CREATE TABLE tenants (
  name       TEXT    NOT NULL PRIMARY KEY,
  limits     TEXT    NOT NULL,  -- JSON (schemas/tenants/limits.h); what is absent has its default
  changed_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
ALTER TABLE api_keys ADD COLUMN limits TEXT NOT NULL DEFAULT '{}';

-- What an owner has stored. Owners are tenants ('t:' and the name) and API keys ('k:' and the id). Machine operations,
-- which the store creates by itself, do not count.
CREATE TABLE quota_usage (
  owner        TEXT    NOT NULL PRIMARY KEY,
  open_jobs    INTEGER NOT NULL,  -- accepted and not ended
  stored_jobs  INTEGER NOT NULL,
  stored_bytes INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO quota_usage (owner, open_jobs, stored_jobs, stored_bytes)
  SELECT 't:' || tenant, sum(open_jobs), sum(stored_jobs), sum(stored_bytes)
  FROM (
    SELECT tenant, count(*) FILTER (WHERE status < 3) AS open_jobs, count(*) AS stored_jobs, 0 AS stored_bytes
    FROM jobs
    WHERE parent_id IS NULL AND kind <> 3
    GROUP BY tenant
    UNION ALL
    SELECT b.tenant, 0, 0, sum(b.bytes)
    FROM image_files AS i JOIN blobs AS b ON b.id = i.blob
    GROUP BY b.tenant
  )
  GROUP BY tenant;

-- What an owner has used on a UTC day (days since 1970).
CREATE TABLE daily_usage (
  owner TEXT    NOT NULL,
  day   INTEGER NOT NULL,
  pages INTEGER NOT NULL,
  PRIMARY KEY (owner, day)
) STRICT, WITHOUT ROWID;

-- Who created it; NULL: no API key did, or it is older than this schema.
ALTER TABLE jobs ADD COLUMN key_id TEXT;
ALTER TABLE machines ADD COLUMN key_id TEXT;
ALTER TABLE ssh_sessions ADD COLUMN key_id TEXT;
-- Of a root job: the bytes that count for its owners. 0 for jobs that are older than this schema.
ALTER TABLE jobs ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;
CREATE INDEX ssh_sessions_tenant ON ssh_sessions (tenant, expires_at);
