-- Returns a run.
-- No row: there is none.
-- Params: tenant, run_id
select r.*, :now as read_at_ms from :schema.runs as r where r.tenant = :tenant and r.run_id = :run_id
