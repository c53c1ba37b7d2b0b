-- PostgreSQL replaces a row that changes in each group by one of the next version; here the version stays 0.
CREATE TABLE usage_with_version (
  owner        TEXT    NOT NULL,
  open_jobs    INTEGER NOT NULL,  -- accepted and not ended
  stored_jobs  INTEGER NOT NULL,
  stored_bytes INTEGER NOT NULL,
  version      INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (owner, version)
) STRICT, WITHOUT ROWID;
INSERT INTO usage_with_version (owner, open_jobs, stored_jobs, stored_bytes)
  SELECT owner, open_jobs, stored_jobs, stored_bytes FROM quota_usage;
DROP TABLE quota_usage;
ALTER TABLE usage_with_version RENAME TO quota_usage;
