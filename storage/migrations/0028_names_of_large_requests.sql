-- The job's name (schemas/jobs/job_name.h) if the request is a blob: otherwise it is read from `bytes`. NULL: none.
ALTER TABLE job_specs ADD COLUMN name TEXT;
