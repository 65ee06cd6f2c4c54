-- Writes an event to be published, in the transaction of what it tells of, and returns its row; an id
-- that is there already stays as it is.
-- Params: tenant, id, type, subject, event, retention_ms
insert into :schema.outbox as o (
  tenant, id, type, subject, event, status, created_at_ms, due_at_ms, retention_ms
)
values (:tenant, :id, :type, :subject, :event, 'PENDING', :now, :now, :retention_ms::bigint)
on conflict (tenant, id) do update set attempts = o.attempts
returning o.*, :now as read_at_ms
