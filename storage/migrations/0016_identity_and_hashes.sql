-- Which store this is: the id that DATA/identity has, too (storage/data_dir.h). One row.
CREATE TABLE identity (
  id BLOB NOT NULL CHECK (length(id) = 16)
) STRICT;
-- XXH3 (64 bits) of `bytes`, looked at whenever they are read (storage/jobs/payload_rows.h). NULL: the row has no bytes, or
-- is older than this schema.
ALTER TABLE job_specs ADD COLUMN hash INTEGER;
ALTER TABLE job_results ADD COLUMN hash INTEGER;
ALTER TABLE job_parts ADD COLUMN hash INTEGER;
