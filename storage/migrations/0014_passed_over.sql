-- Tenants of whom a long document was passed over: the next turn of theirs is its own (storage/jobs/claim_order.h). `use` is that
-- of turns.
CREATE TABLE passed_over (
  kind   INTEGER NOT NULL,
  use    INTEGER NOT NULL,
  tenant TEXT    NOT NULL,
  PRIMARY KEY (kind, use, tenant)
) STRICT, WITHOUT ROWID;
