-- Gives a dead letter up for good and returns its row; its id stays taken until it is purged.
-- No row: it is not dead, or was given up already.
-- Params: tenant, id, by, reason
update :schema.outbox as o set
  settled_at_ms = :now, discarded_by = :by::text, discard_reason = :reason::text
where o.tenant = :tenant and o.id = :id and o.status = 'DEAD' and o.discarded_by is null
returning o.*, :now as read_at_ms
