-- A job that nobody has touched needs no entry among the deadlines: its deadline is its created_at and a day, so the
-- jobs of a queue (jobs_ready) lie in the order of their deadlines, and the head of each says when its first is due
-- (storage/jobs/deadline_scanner.h). Entries are for what has run, waits for a time or a machine, or has another deadline.
DROP INDEX jobs_deadline;
CREATE INDEX jobs_deadline ON jobs (deadline)
  WHERE status IN (0, 2) AND parent_id IS NULL AND (version > 1 OR run_at > 0 OR deadline <> created_at + 86400000);
