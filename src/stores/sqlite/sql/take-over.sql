-- Gives an operation without a live owner to a new acquisition; returns the row.
-- No row: somebody else has it, or it is settled. Status and lease are checked again here, for the
-- token that was read may have gone stale in any of them (R12).
-- Params: tenant, key, token, acquisition_id, lease_ms, detail
update nevertwice_operations as o set
  token = (select seq + 1 from sqlite_sequence where name = 'nevertwice_journal'),
  acquisition_id = :acquisition_id,
  status = 'IN_PROGRESS',
  lease_until_ms = :now + :lease_ms,
  due_at_ms = :now + :lease_ms,
  sweeps = o.sweeps + 1,
  version = o.version + 1,
  journal_seq = o.journal_seq + 1,
  event = 'operation.taken-over',
  event_at_ms = :now,
  event_detail = :detail
where o.tenant = :tenant and o.key = :key and o.token = :token
  and (o.status = 'UNKNOWN' or (o.status = 'IN_PROGRESS' and o.lease_until_ms <= :now))
returning *, :now as read_at_ms
