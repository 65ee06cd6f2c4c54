-- Hands an operation to a person; returns the row.
-- No row: the token is stale or the operation is settled.
-- Params: tenant, key, token, reason, detail
with clock as materialized (select :now as now_ms)
update :schema.operations as o set
  status = 'NEEDS_REVIEW',
  review_reason = :reason,
  lease_until_ms = clock.now_ms,
  version = o.version + 1,
  journal_seq = o.journal_seq + 1,
  event = 'review.opened',
  event_at_ms = clock.now_ms,
  event_detail = :detail
from clock
where o.tenant = :tenant and o.key = :key and o.token = :token and o.status = 'IN_PROGRESS'
returning o.*, clock.now_ms as read_at_ms
