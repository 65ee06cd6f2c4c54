-- Records that an event was published and returns its row.
-- No row: the token is stale.
-- Params: position, token
update nevertwice_outbox as o set status = 'PUBLISHED', error = null, settled_at_ms = :now
where o.position = :position and o.token = :token and o.status = 'PENDING'
returning *, :now as read_at_ms
