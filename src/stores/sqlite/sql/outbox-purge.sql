-- Forgets events past their retention that were published or given up, and returns their ids.
-- Params: limit
delete from nevertwice_outbox
where position in (
  select position from nevertwice_outbox
  where (status = 'PUBLISHED' or discarded_by is not null) and settled_at_ms < :now - retention_ms
  order by settled_at_ms
  limit :limit
)
returning id
