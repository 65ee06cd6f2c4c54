-- Returns the row of an event, or of the event that told the same fact.
-- No row: it was not received, or was purged.
-- Params: tenant, consumer, source, id, fact
select i.*, :now as read_at_ms
from nevertwice_inbox as i
where i.tenant = :tenant and i.consumer = :consumer
  and ((i.source = :source and i.id = :id) or i.fact = :fact)
order by case when i.source = :source and i.id = :id then 0 else 1 end
limit 1
