-- Records that an event was published and returns its row.
-- No row: the token is stale.
-- Params: position, token
update :schema.outbox as o set status = 'PUBLISHED', error = null, settled_at_ms = :now
where o.position = :position::bigint and o.token = :token::bigint and o.status = 'PENDING'
returning o.*, :now as read_at_ms
