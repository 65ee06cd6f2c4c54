-- Keeps a message that is no event as a dead letter and returns its row. The same message again counts as
-- one more attempt, and is a dead letter again where it was given up.
-- Params: tenant, consumer, source, id, raw, error, retention_ms
insert into nevertwice_inbox as i (
  tenant, consumer, source, id, type, raw, status, receipt, attempts, error,
  received_at_ms, due_at_ms, settled_at_ms, retention_ms
)
values (:tenant, :consumer, :source, :id, '', :raw, 'DEAD', '', 1, :error, :now, :now, :now, :retention_ms)
on conflict (tenant, consumer, source, id) do update set
  status = 'DEAD',
  raw = excluded.raw,
  error = excluded.error,
  attempts = i.attempts + 1,
  settled_at_ms = excluded.settled_at_ms,
  discarded_by = null,
  discard_reason = null
returning *, :now as read_at_ms
