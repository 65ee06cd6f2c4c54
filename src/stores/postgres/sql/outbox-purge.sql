-- Forgets published events past their retention and returns their ids.
-- Params: limit
delete from :schema.outbox as o
where o.position in (
  select position from :schema.outbox
  where status = 'PUBLISHED' and settled_at_ms < (select :now) - retention_ms
  order by settled_at_ms
  limit :limit::integer
  for update skip locked
)
returning o.id
