-- A row that changes in each group is replaced by one with another key. Otherwise a read of its key would pass all
-- versions that an open snapshot keeps.
ALTER TABLE quota_usage ADD COLUMN version bigint NOT NULL DEFAULT 0;
ALTER TABLE quota_usage DROP CONSTRAINT quota_usage_pkey, ADD PRIMARY KEY (owner, version);
ALTER TABLE writers DROP CONSTRAINT writers_pkey, ADD PRIMARY KEY (writer, group_seq);

-- Leases by their end: a look for ended ones passes only those that began since the last look, not all that an open
-- snapshot keeps.
CREATE INDEX jobs_leases ON jobs (lease_until) WHERE status = 1;
