-- Flags evidence that contradicts what is stored; returns the row. The outcome stays as it is (R14).
-- No row: there is no such operation.
-- Params: tenant, key, incident, detail
with clock as materialized (select :now as now_ms)
update :schema.operations as o set
  incident = :incident,
  version = o.version + 1,
  journal_seq = o.journal_seq + 1,
  event = 'operation.incident',
  event_at_ms = clock.now_ms,
  event_detail = :detail
from clock
where o.tenant = :tenant and o.key = :key
returning o.*, clock.now_ms as read_at_ms
