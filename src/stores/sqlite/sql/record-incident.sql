-- Flags evidence that contradicts what is stored; returns the row. The outcome stays as it is (R14).
-- No row: there is no such operation.
-- Params: tenant, key, incident, detail
update nevertwice_operations as o set
  incident = :incident,
  version = o.version + 1,
  journal_seq = o.journal_seq + 1,
  event = 'operation.incident',
  event_at_ms = :now,
  event_detail = :detail
where o.tenant = :tenant and o.key = :key
returning *, :now as read_at_ms
