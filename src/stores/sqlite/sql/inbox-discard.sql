-- Gives an event up that waits to be handled, or is dead, and returns its row; it stays known.
-- No row: it is handled.
-- Params: tenant, consumer, source, id
update nevertwice_inbox as i set status = 'DONE', event = null, settled_at_ms = :now
where i.tenant = :tenant and i.consumer = :consumer and i.source = :source and i.id = :id and i.status <> 'DONE'
returning *, :now as read_at_ms
