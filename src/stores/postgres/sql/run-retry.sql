-- Takes a failed run up again and returns its row: what is recorded of it stays.
-- No row: it has not failed, or was purged.
-- Params: tenant, run_id
update :schema.runs as r set
  status = 'WAITING', error = null, attempts = 0, due_at_ms = :now, settled_at_ms = null,
  updated_at_ms = :now
where r.tenant = :tenant and r.run_id = :run_id and r.status = 'FAILED' and r.purged_at_ms is null
returning r.*, :now as read_at_ms
