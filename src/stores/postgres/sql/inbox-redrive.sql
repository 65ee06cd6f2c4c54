-- Lets a dead letter be handled again and returns its row.
-- No row: it is not dead, or is no event that could be handled.
-- Params: tenant, consumer, source, id
update :schema.inbox as i set status = 'PENDING', attempts = 0, due_at_ms = :now, settled_at_ms = null
where i.tenant = :tenant::text and i.consumer = :consumer::text and i.source = :source::text and i.id = :id::text
  and i.status = 'DEAD' and i.event is not null
returning i.*, :now as read_at_ms
