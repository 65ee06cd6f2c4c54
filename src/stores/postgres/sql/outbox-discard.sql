-- Gives a dead letter up for good and returns its row.
-- No row: it is not dead.
-- Params: tenant, id
delete from :schema.outbox as o
where o.tenant = :tenant and o.id = :id and o.status = 'DEAD'
returning o.*, :now as read_at_ms
