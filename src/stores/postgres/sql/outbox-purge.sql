-- Forgets events past their retention that were published or given up, and returns their ids.
-- Params: limit
delete from :schema.outbox as o
where o.position in (
  select position from :schema.outbox
  where (status = 'PUBLISHED' or discarded_by is not null) and settled_at_ms < (select :now) - retention_ms
  order by settled_at_ms
  limit :limit::integer
  for update skip locked
)
returning o.id
