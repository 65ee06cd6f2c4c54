-- Records that publishing went wrong and returns the row: PENDING, or DEAD at the poison limit.
-- No row: the token is stale.
-- Params: position, token, error, poison_after, retry_after_ms
update :schema.outbox as o set
  error = :error::text,
  due_at_ms = :now + :retry_after_ms::bigint,
  status = case when o.attempts >= :poison_after::integer then 'DEAD' else 'PENDING' end,
  settled_at_ms = case when o.attempts >= :poison_after::integer then :now end
where o.position = :position::bigint and o.token = :token::bigint and o.status = 'PENDING'
returning o.*, :now as read_at_ms
