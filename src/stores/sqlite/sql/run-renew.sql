-- Prolongs the lease of a run that we own and returns its row.
-- No row: another owns it.
-- Params: tenant, run_id, token, lease_ms
update nevertwice_runs as r set due_at_ms = :now + :lease_ms, updated_at_ms = :now
where r.tenant = :tenant and r.run_id = :run_id and r.token = :token and r.status = 'RUNNING'
returning *, :now as read_at_ms
