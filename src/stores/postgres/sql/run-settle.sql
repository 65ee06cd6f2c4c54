-- Records how a run that we own ended and returns its row.
-- No row: another owns it.
-- Params: tenant, run_id, token, status, output, error
update :schema.runs as r set
  status = :status::text,
  output = :output::text,
  error = :error::text,
  waits_for = null,
  due_at_ms = null,
  settled_at_ms = :now,
  updated_at_ms = :now
where r.tenant = :tenant::text and r.run_id = :run_id::text and r.token = :token::bigint and r.status = 'RUNNING'
returning r.*, :now as read_at_ms
