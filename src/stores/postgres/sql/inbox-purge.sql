-- Forgets handled events past their retention and returns their ids.
-- Params: limit
with picked as materialized (
  select tenant, consumer, source, id from :schema.inbox
  where status = 'DONE' and settled_at_ms < (select :now) - retention_ms
  order by settled_at_ms
  limit :limit::integer
  for update skip locked
)
delete from :schema.inbox as i
using picked
where i.tenant = picked.tenant and i.consumer = picked.consumer and i.source = picked.source and i.id = picked.id
returning i.id
