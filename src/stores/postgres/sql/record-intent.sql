-- Records on a settled operation which intent replaces it; returns the row.
-- No row: the operation is not settled, or an incident says otherwise, or another intent replaces it already (R25).
-- Params: tenant, key, superseded_by, detail
with clock as materialized (select :now as now_ms)
update :schema.operations as o set
  superseded_by = :superseded_by,
  version = o.version + 1,
  journal_seq = o.journal_seq + 1,
  event = 'intent.recorded',
  event_at_ms = clock.now_ms,
  event_detail = :detail
from clock
where o.tenant = :tenant and o.key = :key and o.status in ('DONE', 'FAILED') and o.incident is null
  and (o.superseded_by is null or o.superseded_by = :superseded_by)
returning o.*, clock.now_ms as read_at_ms
