-- Empties settled operations past their retention and returns their keys. The row stays as a
-- tombstone, so a late duplicate meets KEY_EXPIRED and not a free key (R23).
-- Params: limit
with clock as materialized (select :now as now_ms),
old as (
  select tenant, key from :schema.operations, clock
  where status in ('DONE', 'FAILED') and purged_at_ms is null and incident is null
    and settled_at_ms < clock.now_ms - retention_ms
  order by settled_at_ms
  limit :limit::integer
  for update of operations skip locked
)
update :schema.operations as o set
  arguments = null,
  result_kind = null,
  result = null,
  error = null,
  look_alike = null,
  purged_at_ms = clock.now_ms,
  version = o.version + 1,
  journal_seq = o.journal_seq + 1,
  event = 'operation.purged',
  event_at_ms = clock.now_ms,
  event_detail = '{}'
from old, clock
where o.tenant = old.tenant and o.key = old.key
returning o.tenant, o.key
