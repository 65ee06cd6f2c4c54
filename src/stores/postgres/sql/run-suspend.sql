-- Puts a run that we own to sleep and returns its row. A wake-up that came since the run was read is
-- not missed: the run is due at once.
-- No row: another owns it.
-- Params: tenant, run_id, token, wakes, waits_for, wake_at_ms, error, attempts
update :schema.runs as r set
  status = 'WAITING',
  waits_for = :waits_for::text,
  error = :error::text,
  attempts = :attempts::integer,
  due_at_ms = case when r.wakes = :wakes::integer then :wake_at_ms::bigint else :now end,
  updated_at_ms = :now
where r.tenant = :tenant::text and r.run_id = :run_id::text and r.token = :token::bigint and r.status = 'RUNNING'
returning r.*, :now as read_at_ms
