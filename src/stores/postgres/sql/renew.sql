-- Prolongs a lease that is still alive; returns the row.
-- No row: the lease is lost, and with it the right to act.
-- Params: tenant, key, token, lease_ms, detail
with clock as materialized (select :now as now_ms)
update :schema.operations as o set
  lease_until_ms = clock.now_ms + :lease_ms::bigint,
  due_at_ms = clock.now_ms + :lease_ms::bigint,
  version = o.version + 1,
  journal_seq = o.journal_seq + 1,
  event = 'operation.renewed',
  event_at_ms = clock.now_ms,
  event_detail = :detail
from clock
where o.tenant = :tenant and o.key = :key and o.token = :token and o.status = 'IN_PROGRESS' and o.lease_until_ms > clock.now_ms
returning o.*, clock.now_ms as read_at_ms
