-- Lets a dead letter be published again and returns its row.
-- No row: it is not dead, or was given up.
-- Params: tenant, id
update nevertwice_outbox as o set status = 'PENDING', attempts = 0, due_at_ms = :now, settled_at_ms = null
where o.tenant = :tenant and o.id = :id and o.status = 'DEAD' and o.discarded_by is null
returning *, :now as read_at_ms
