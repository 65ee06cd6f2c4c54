-- Gives an operation up with its outcome unknown; returns the row.
-- No row: the token is stale or the operation is settled.
-- Params: tenant, key, token, error, sweep_after_ms, event, detail
update nevertwice_operations as o set
  status = 'UNKNOWN',
  error = :error,
  lease_until_ms = :now,
  due_at_ms = :now + :sweep_after_ms,
  version = o.version + 1,
  journal_seq = o.journal_seq + 1,
  event = :event,
  event_at_ms = :now,
  event_detail = :detail
where o.tenant = :tenant and o.key = :key and o.token = :token and o.status = 'IN_PROGRESS'
returning *, :now as read_at_ms
