-- Returns received events, newest first. A parameter that is null doesn't restrict.
-- Params: tenant, consumer, status, subject, source, id, after_received_at_ms, after_tenant, after_consumer, after_source, after_id, limit
select i.*, :now as read_at_ms
from :schema.inbox as i
where (:tenant::text is null or i.tenant = :tenant::text)
  and (:consumer::text is null or i.consumer = :consumer::text)
  and (:status::text is null or i.status = :status::text)
  and (:subject::text is null or i.subject = :subject::text)
  and (:source::text is null or i.source = :source::text)
  and (:id::text is null or i.id = :id::text)
  and (:after_received_at_ms::bigint is null
    or i.received_at_ms < :after_received_at_ms::bigint
    or (i.received_at_ms = :after_received_at_ms::bigint and (i.tenant, i.consumer, i.source, i.id) > (:after_tenant::text, :after_consumer::text, :after_source::text, :after_id::text)))
order by i.received_at_ms desc, i.tenant, i.consumer, i.source, i.id
limit :limit::integer
