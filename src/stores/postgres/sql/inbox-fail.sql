-- Keeps an event whose handling went wrong and returns its row: PENDING, or DEAD at the poison limit.
-- No row: it is settled already.
-- Params: tenant, consumer, source, id, type, subject, event, error, poison_after, retry_after_ms, retention_ms
insert into :schema.inbox as i (
  tenant, consumer, source, id, type, subject, event, status, receipt, attempts, error,
  received_at_ms, due_at_ms, settled_at_ms, retention_ms
)
values (:tenant, :consumer, :source, :id, :type, :subject, :event,
  case when :poison_after::integer <= 1 then 'DEAD' else 'PENDING' end, '', 1, :error,
  :now, :now + :retry_after_ms::bigint, case when :poison_after::integer <= 1 then :now end,
  :retention_ms::bigint)
on conflict (tenant, consumer, source, id) do update set
  event = excluded.event,
  error = excluded.error,
  attempts = i.attempts + 1,
  due_at_ms = excluded.due_at_ms,
  status = case when i.attempts + 1 >= :poison_after::integer then 'DEAD' else 'PENDING' end,
  settled_at_ms = case when i.attempts + 1 >= :poison_after::integer then excluded.received_at_ms end
where i.status = 'PENDING'
returning i.*, :now as read_at_ms
