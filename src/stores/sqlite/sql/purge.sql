-- Empties settled operations past their retention and returns their keys. The row stays as a
-- tombstone, so a late duplicate meets KEY_EXPIRED and not a free key (R23).
-- Params: limit
update nevertwice_operations as o set
  arguments = null,
  result_kind = null,
  result = null,
  error = null,
  look_alike = null,
  purged_at_ms = :now,
  version = o.version + 1,
  journal_seq = o.journal_seq + 1,
  event = 'operation.purged',
  event_at_ms = :now,
  event_detail = '{}'
where o.rowid in (
  select rowid from nevertwice_operations
  where status in ('DONE', 'FAILED') and purged_at_ms is null and incident is null
    and settled_at_ms < :now - retention_ms
  order by settled_at_ms
  limit :limit
)
returning tenant, key
