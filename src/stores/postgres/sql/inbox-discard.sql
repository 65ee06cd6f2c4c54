-- Gives a dead letter up for good and returns its row; the same event stays known.
-- No row: it is not dead.
-- Params: tenant, consumer, source, id
update :schema.inbox as i set status = 'DONE', event = null, settled_at_ms = :now
where i.tenant = :tenant::text and i.consumer = :consumer::text and i.source = :source::text and i.id = :id::text and i.status = 'DEAD'
returning i.*, :now as read_at_ms
