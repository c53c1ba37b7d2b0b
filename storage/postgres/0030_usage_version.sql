-- A row that changes in each group is replaced by one with another key. Otherwise a read of its key would pass all
-- versions that an open snapshot keeps.
ALTER TABLE quota_usage ADD COLUMN version bigint NOT NULL DEFAULT 0;
ALTER TABLE quota_usage DROP CONSTRAINT quota_usage_pkey, ADD PRIMARY KEY (owner, version);
ALTER TABLE writers DROP CONSTRAINT writers_pkey, ADD PRIMARY KEY (writer, group_seq);
