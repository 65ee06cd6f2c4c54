-- Gives an operation up with its outcome unknown; returns the row.
-- No row: the token is stale or the operation is settled.
-- Params: tenant, key, token, error, sweep_after_ms, event, detail
with clock as materialized (select :now as now_ms)
update :schema.operations as o set
  status = 'UNKNOWN',
  error = :error,
  lease_until_ms = clock.now_ms,
  due_at_ms = clock.now_ms + :sweep_after_ms::bigint,
  version = o.version + 1,
  journal_seq = o.journal_seq + 1,
  event = :event,
  event_at_ms = clock.now_ms,
  event_detail = :detail
from clock
where o.tenant = :tenant and o.key = :key and o.token = :token and o.status = 'IN_PROGRESS'
returning o.*, clock.now_ms as read_at_ms
