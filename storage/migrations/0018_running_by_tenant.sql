-- Claims count what a tenant runs of a kind (docs/adr/0044): one seek. Leases are found by a scan over the running jobs.
DROP INDEX jobs_running;
CREATE INDEX jobs_running ON jobs (kind, tenant, lease_boot, lease_until, worker, status) WHERE status = 1;
