-- The secret files that this store is used with (storage/admin/secret_checks.h). `value` is derived from the file's content,
-- so that another file is noticed.
CREATE TABLE secret_checks (
  name  TEXT NOT NULL PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
