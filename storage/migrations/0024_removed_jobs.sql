-- 1: the owner has deleted the job; its rows go when it and its parts have ended.
ALTER TABLE jobs ADD COLUMN removed INTEGER NOT NULL DEFAULT 0;
CREATE INDEX jobs_removed ON jobs (removed) WHERE removed = 1;
