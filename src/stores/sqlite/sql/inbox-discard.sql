-- Gives a dead letter up for good and returns its row; the same event stays known.
-- No row: it is not dead.
-- Params: tenant, consumer, source, id
update nevertwice_inbox as i set status = 'DONE', event = null, settled_at_ms = :now
where i.tenant = :tenant and i.consumer = :consumer and i.source = :source and i.id = :id and i.status = 'DEAD'
returning *, :now as read_at_ms
