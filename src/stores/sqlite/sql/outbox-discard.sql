-- Gives a dead letter up for good and returns its row.
-- No row: it is not dead.
-- Params: tenant, id
delete from nevertwice_outbox
where tenant = :tenant and id = :id and status = 'DEAD'
returning *, :now as read_at_ms
