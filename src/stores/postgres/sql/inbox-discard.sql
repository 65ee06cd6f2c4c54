-- Gives an event up that waits to be handled, or is dead, and returns its row; it stays known.
-- No row: it is handled, or given up already.
-- Params: tenant, consumer, source, id, by, reason
update :schema.inbox as i set
  status = 'DONE', event = null, raw = null, settled_at_ms = :now,
  discarded_by = :by::text, discard_reason = :reason::text
where i.tenant = :tenant::text and i.consumer = :consumer::text and i.source = :source::text and i.id = :id::text
  and i.status <> 'DONE'
returning i.*, :now as read_at_ms
