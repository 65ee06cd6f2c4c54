-- Hands an operation to a person; returns the row.
-- No row: the token is stale or the operation is settled.
-- Params: tenant, key, token, reason, detail
update nevertwice_operations as o set
  status = 'NEEDS_REVIEW',
  review_reason = :reason,
  lease_until_ms = :now,
  version = o.version + 1,
  journal_seq = o.journal_seq + 1,
  event = 'review.opened',
  event_at_ms = :now,
  event_detail = :detail
where o.tenant = :tenant and o.key = :key and o.token = :token and o.status = 'IN_PROGRESS'
returning *, :now as read_at_ms
