-- Nothing has ever read or written it.
ALTER TABLE idempotency DROP COLUMN ended;
