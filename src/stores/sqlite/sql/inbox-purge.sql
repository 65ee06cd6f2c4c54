-- Forgets handled events past their retention and returns their ids.
-- Params: limit
delete from nevertwice_inbox
where (tenant, consumer, source, id) in (
  select tenant, consumer, source, id from nevertwice_inbox
  where status = 'DONE' and settled_at_ms < :now - retention_ms
  order by settled_at_ms
  limit :limit
)
returning id
