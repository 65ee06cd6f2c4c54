-- Prolongs a lease that is still alive; returns the row.
-- No row: the lease is lost, and with it the right to act.
-- Params: tenant, key, token, lease_ms, detail
update nevertwice_operations as o set
  lease_until_ms = :now + :lease_ms,
  due_at_ms = :now + :lease_ms,
  version = o.version + 1,
  journal_seq = o.journal_seq + 1,
  event = 'operation.renewed',
  event_at_ms = :now,
  event_detail = :detail
where o.tenant = :tenant and o.key = :key and o.token = :token and o.status = 'IN_PROGRESS' and o.lease_until_ms > :now
returning *, :now as read_at_ms
