-- Kinds whose jobs run in lanes (chat: 4), each lane a model: the head of a lane's next tenant is one seek, and so is
-- the next lane. Kinds without lanes have no entry. What jobs_lane and jobs_on_machine list is for machines alone.
CREATE INDEX jobs_lanes ON jobs (model, tenant, priority DESC, id) WHERE status = 0 AND run_at = 0 AND kind = 4;
UPDATE jobs SET lane_key = NULL WHERE kind = 4 AND lane_key IS NOT NULL;
