-- Prolongs the lease of a run that we own and returns its row.
-- No row: another owns it.
-- Params: tenant, run_id, token, lease_ms
update :schema.runs as r set due_at_ms = :now + :lease_ms::bigint, updated_at_ms = :now
where r.tenant = :tenant::text and r.run_id = :run_id::text and r.token = :token::bigint and r.status = 'RUNNING'
returning r.*, :now as read_at_ms
