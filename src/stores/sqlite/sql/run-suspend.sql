-- Puts a run that we own to sleep and returns its row. A wake-up that came since the run was read is
-- not missed: the run is due at once.
-- No row: another owns it.
-- Params: tenant, run_id, token, wakes, waits_for, wake_at_ms, error, attempts
update nevertwice_runs as r set
  status = 'WAITING',
  waits_for = :waits_for,
  error = :error,
  attempts = :attempts,
  due_at_ms = case when r.wakes = :wakes then :wake_at_ms else :now end,
  updated_at_ms = :now
where r.tenant = :tenant and r.run_id = :run_id and r.token = :token and r.status = 'RUNNING'
returning *, :now as read_at_ms
