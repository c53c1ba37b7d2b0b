-- A tenant's lanes (chat: 4): the next one with its head is one seek, whatever lanes other tenants have.
DROP INDEX jobs_lanes;
CREATE INDEX jobs_lanes ON jobs (tenant, model, priority DESC, id) WHERE status = 0 AND run_at = 0 AND kind = 4;
-- The window of the outbox: as many entries as tokens are out. The model tells whether a lane has one.
DROP INDEX jobs_published;
CREATE INDEX jobs_published ON jobs (kind, published_at, model) WHERE status = 0 AND published_at > 0;
