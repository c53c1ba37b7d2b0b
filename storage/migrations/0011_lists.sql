-- Lists by kind or model: each group of a tenant's jobs lies newest first. As many entries as before; the list of all
-- of a tenant's jobs is that of its few groups together. The last column is a constant of a byte: with it SQLite
-- answers from the index alone.
DROP INDEX jobs_listed;
CREATE INDEX jobs_listed ON jobs (tenant, kind, model, id, parent_id) WHERE parent_id IS NULL;
-- What failed, was cancelled or expired, by reason: written once, at an end that is no success.
CREATE INDEX jobs_ended_badly ON jobs (status, kind, error_code, tenant, id, parent_id)
  WHERE status >= 4 AND parent_id IS NULL;
