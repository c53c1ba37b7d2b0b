-- The client's `metadata` of a root job: a JSON object of texts (schemas/jobs/job_metadata.h). NULL: none.
ALTER TABLE jobs ADD COLUMN metadata TEXT;
