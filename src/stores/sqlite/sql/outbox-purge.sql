-- Forgets published events past their retention and returns their ids.
-- Params: limit
delete from nevertwice_outbox
where position in (
  select position from nevertwice_outbox
  where status = 'PUBLISHED' and settled_at_ms < :now - retention_ms
  order by settled_at_ms
  limit :limit
)
returning id
