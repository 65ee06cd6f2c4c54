-- Records how a run that we own ended and returns its row.
-- No row: another owns it.
-- Params: tenant, run_id, token, status, output, error
update nevertwice_runs as r set
  status = :status,
  output = :output,
  error = :error,
  waits_for = null,
  due_at_ms = null,
  settled_at_ms = :now,
  updated_at_ms = :now
where r.tenant = :tenant and r.run_id = :run_id and r.token = :token and r.status = 'RUNNING'
returning *, :now as read_at_ms
