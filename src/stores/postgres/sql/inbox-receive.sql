-- Takes an event in and returns its row, in the transaction of the state change. The delivery is ours to
-- handle when the receipt is ours; any other receipt belongs to who handled it. Waits for a delivery of
-- the same event that is being handled.
-- No row: another id told the same fact.
-- Params: tenant, consumer, source, id, type, subject, fact, receipt, retention_ms
insert into :schema.inbox as i (
  tenant, consumer, source, id, type, subject, fact, status, receipt, attempts, received_at_ms,
  due_at_ms, settled_at_ms, retention_ms
)
select :tenant::text, :consumer::text, :source::text, :id::text, :type::text, :subject::text, :fact::text, 'DONE',
  :receipt::text, 1, :now, :now, :now, :retention_ms::bigint
where not exists (
  select 1 from :schema.inbox as known
  where known.tenant = :tenant::text and known.consumer = :consumer::text and known.fact = :fact::text
    and not (known.source = :source::text and known.id = :id::text)
)
on conflict (tenant, consumer, source, id) do update set
  status = case when i.status = 'PENDING' then 'DONE' else i.status end,
  receipt = case when i.status = 'PENDING' then excluded.receipt else i.receipt end,
  attempts = case when i.status = 'PENDING' then i.attempts + 1 else i.attempts end,
  fact = case when i.status = 'PENDING' then excluded.fact else i.fact end,
  event = case when i.status = 'PENDING' then null else i.event end,
  settled_at_ms = case when i.status = 'PENDING' then excluded.settled_at_ms else i.settled_at_ms end
returning i.*, :now as read_at_ms
