-- Finds the retries of a job (JobView::retried_by). Ended jobs never change, so the retry names the old job.
CREATE INDEX jobs_retries ON jobs (retry_of) WHERE retry_of IS NOT NULL;
