-- Takes back an armed attempt of which nothing can land; returns the row. With no attempt left the
-- operation is free for the next call, else its outcome is as unknown as before.
-- No row: the token is stale or the attempt is not the one that was armed.
-- Params: tenant, key, token, attempts, error, sweep_after_ms, detail
update nevertwice_operations as o set
  attempts = o.attempts - 1,
  attempts_in_generation = o.attempts_in_generation - 1,
  first_armed_at_ms = case when o.attempts_in_generation = 1 then null else o.first_armed_at_ms end,
  status = case when o.attempts = 1 then 'IN_PROGRESS' else 'UNKNOWN' end,
  lease_until_ms = :now,
  due_at_ms = :now + :sweep_after_ms,
  error = :error,
  version = o.version + 1,
  journal_seq = o.journal_seq + 1,
  event = 'operation.released',
  event_at_ms = :now,
  event_detail = :detail
where o.tenant = :tenant and o.key = :key and o.token = :token and o.status = 'IN_PROGRESS' and o.attempts = :attempts and o.attempts_in_generation > 0
returning *, :now as read_at_ms
