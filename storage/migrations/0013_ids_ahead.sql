-- Numbers that are the whole store's.
CREATE TABLE meta (
  name  TEXT    NOT NULL PRIMARY KEY,
  value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
-- The most milliseconds by which the time in a job's id is ahead of its row's created_at, where that is more than the
-- second that any may be (storage/jobs/job_rows.h): written down with the row.
INSERT INTO meta (name, value)
  SELECT 'ids_ahead_ms', coalesce(max(
    (instr('0123456789ABCDEF', substr(h,  1, 1)) - 1) * 17592186044416 +
    (instr('0123456789ABCDEF', substr(h,  2, 1)) - 1) * 1099511627776 +
    (instr('0123456789ABCDEF', substr(h,  3, 1)) - 1) * 68719476736 +
    (instr('0123456789ABCDEF', substr(h,  4, 1)) - 1) * 4294967296 +
    (instr('0123456789ABCDEF', substr(h,  5, 1)) - 1) * 268435456 +
    (instr('0123456789ABCDEF', substr(h,  6, 1)) - 1) * 16777216 +
    (instr('0123456789ABCDEF', substr(h,  7, 1)) - 1) * 1048576 +
    (instr('0123456789ABCDEF', substr(h,  8, 1)) - 1) * 65536 +
    (instr('0123456789ABCDEF', substr(h,  9, 1)) - 1) * 4096 +
    (instr('0123456789ABCDEF', substr(h, 10, 1)) - 1) * 256 +
    (instr('0123456789ABCDEF', substr(h, 11, 1)) - 1) * 16 +
    (instr('0123456789ABCDEF', substr(h, 12, 1)) - 1) - created_at), 0)
  FROM (SELECT hex(substr(id, 1, 6)) AS h, created_at FROM jobs)
  WHERE h > printf('%012X', created_at + 1000);
