-- The code of a machine's `last_error`, as base::name has it: what waits for a machine that has failed ends with it.
ALTER TABLE machines ADD COLUMN error_code TEXT NOT NULL DEFAULT '';
