-- PostgreSQL replaces a row that changes in each group by one of the next version; here the version stays 0. The
-- columns of the key come first: otherwise the integrity check of SQLite 3.40 finds NULL values that are not there.
CREATE TABLE usage_with_version (
  owner        TEXT    NOT NULL,
  version      INTEGER NOT NULL DEFAULT 0,
  open_jobs    INTEGER NOT NULL,  -- accepted and not ended
  stored_jobs  INTEGER NOT NULL,
  stored_bytes INTEGER NOT NULL,
  PRIMARY KEY (owner, version)
) STRICT, WITHOUT ROWID;
INSERT INTO usage_with_version (owner, open_jobs, stored_jobs, stored_bytes)
  SELECT owner, open_jobs, stored_jobs, stored_bytes FROM quota_usage;
DROP TABLE quota_usage;
ALTER TABLE usage_with_version RENAME TO quota_usage;
