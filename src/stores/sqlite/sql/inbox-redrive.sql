-- Lets a dead letter be handled again and returns its row.
-- No row: it is not dead, or is no event that could be handled.
-- Params: tenant, consumer, source, id
update nevertwice_inbox as i set status = 'PENDING', attempts = 0, due_at_ms = :now, settled_at_ms = null
where i.tenant = :tenant and i.consumer = :consumer and i.source = :source and i.id = :id
  and i.status = 'DEAD' and i.event is not null
returning *, :now as read_at_ms
