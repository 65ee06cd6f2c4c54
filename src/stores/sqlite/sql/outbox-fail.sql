-- Records that publishing went wrong and returns the row: PENDING, or DEAD at the poison limit.
-- No row: the token is stale.
-- Params: position, token, error, poison_after, retry_after_ms
update nevertwice_outbox as o set
  error = :error,
  due_at_ms = :now + :retry_after_ms,
  status = case when o.attempts >= :poison_after then 'DEAD' else 'PENDING' end,
  settled_at_ms = case when o.attempts >= :poison_after then :now end
where o.position = :position and o.token = :token and o.status = 'PENDING'
returning *, :now as read_at_ms
