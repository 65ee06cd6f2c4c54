-- Gives an event up that waits to be handled, or is dead, and returns its row; it stays known.
-- No row: it is handled, or given up already.
-- Params: tenant, consumer, source, id, by, reason
update nevertwice_inbox as i set
  status = 'DONE', event = null, raw = null, settled_at_ms = :now,
  discarded_by = :by, discard_reason = :reason
where i.tenant = :tenant and i.consumer = :consumer and i.source = :source and i.id = :id
  and i.status <> 'DONE'
returning *, :now as read_at_ms
