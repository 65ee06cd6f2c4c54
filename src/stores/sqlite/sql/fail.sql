-- Settles an operation as FAILED; returns the row.
-- No row: the token is stale, or another attempt may have landed. A refusal counts only when this was
-- the only attempt of its generation or the provider replays declines (R13), an absence only when it
-- was looked up after everything had settled (R18).
-- Params: tenant, key, token, error, replays_declines, looked_at_ms, detail
update nevertwice_operations as o set
  status = 'FAILED',
  error = :error,
  lease_until_ms = :now,
  settled_at_ms = :now,
  version = o.version + 1,
  journal_seq = o.journal_seq + 1,
  event = 'operation.failed',
  event_at_ms = :now,
  event_detail = :detail
where o.tenant = :tenant and o.key = :key and o.token = :token and o.status = 'IN_PROGRESS'
  and (
    (:looked_at_ms is null and (o.attempts_in_generation = 1 or :replays_declines = 1))
    or :looked_at_ms > o.quiet_until_ms
  )
returning *, :now as read_at_ms
