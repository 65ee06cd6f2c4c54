-- Settles an operation as FAILED; returns the row.
-- No row: the token is stale, or another attempt may have landed. A refusal counts only when this was
-- the only attempt of its generation or the provider replays declines (R13), an absence only when it
-- was looked up after everything had settled (R18).
-- Params: tenant, key, token, error, replays_declines, looked_at_ms, detail
with clock as materialized (select :now as now_ms)
update :schema.operations as o set
  status = 'FAILED',
  error = :error,
  lease_until_ms = clock.now_ms,
  settled_at_ms = clock.now_ms,
  version = o.version + 1,
  journal_seq = o.journal_seq + 1,
  event = 'operation.failed',
  event_at_ms = clock.now_ms,
  event_detail = :detail
from clock
where o.tenant = :tenant and o.key = :key and o.token = :token and o.status = 'IN_PROGRESS'
  and (
    (:looked_at_ms::bigint is null and (o.attempts_in_generation = 1 or :replays_declines::integer = 1))
    or :looked_at_ms::bigint > o.quiet_until_ms
  )
returning o.*, clock.now_ms as read_at_ms
