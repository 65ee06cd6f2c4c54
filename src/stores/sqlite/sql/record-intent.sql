-- Records on a settled operation which intent replaces it; returns the row.
-- No row: the operation is not settled, or an incident says otherwise, or another intent replaces it already (R25).
-- Params: tenant, key, superseded_by, detail
update nevertwice_operations as o set
  superseded_by = :superseded_by,
  version = o.version + 1,
  journal_seq = o.journal_seq + 1,
  event = 'intent.recorded',
  event_at_ms = :now,
  event_detail = :detail
where o.tenant = :tenant and o.key = :key and o.status in ('DONE', 'FAILED') and o.incident is null
  and (o.superseded_by is null or o.superseded_by = :superseded_by)
returning *, :now as read_at_ms
