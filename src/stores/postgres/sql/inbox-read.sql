-- Returns the row of an event, or of the event that told the same fact.
-- No row: it was not received, or was purged.
-- Params: tenant, consumer, source, id, fact
select i.*, :now as read_at_ms
from :schema.inbox as i
where i.tenant = :tenant::text and i.consumer = :consumer::text
  and ((i.source = :source::text and i.id = :id::text) or i.fact = :fact::text)
order by case when i.source = :source::text and i.id = :id::text then 0 else 1 end
limit 1
