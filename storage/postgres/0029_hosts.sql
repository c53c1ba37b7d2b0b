CREATE TABLE processes (
  id            bytea NOT NULL PRIMARY KEY,
  host          text COLLATE "C" NOT NULL,
  data_dir      bytea NOT NULL,
  version       text COLLATE "C" NOT NULL,
  serves_api    bigint NOT NULL,
  calls_models  bigint NOT NULL,
  runs_machines bigint NOT NULL,
  started_at    bigint NOT NULL,
  seen_boot     bigint NOT NULL
) WITH (fillfactor = 50);
CREATE TABLE leases (
  name  text COLLATE "C" NOT NULL PRIMARY KEY,
  host  text COLLATE "C" NOT NULL,
  until bigint NOT NULL
) WITH (fillfactor = 50);
ALTER TABLE machines ADD COLUMN host text COLLATE "C";
ALTER TABLE jobs ADD COLUMN host text COLLATE "C";
CREATE INDEX jobs_of_hosts ON jobs (kind, host, tenant, priority DESC, id)
  WHERE status = 0 AND run_at = 0 AND host IS NOT NULL;

-- Jobs that have become ready with an old id, or another priority than 0 (queue_positions.h).
CREATE TABLE ready_again (
  seq      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  kind     bigint NOT NULL,
  tenant   text COLLATE "C" NOT NULL,
  priority bigint NOT NULL,
  job      bytea NOT NULL,
  at       bigint NOT NULL
);
