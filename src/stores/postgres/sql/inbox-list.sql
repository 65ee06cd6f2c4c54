-- Returns received events, newest first. A parameter that is null doesn't restrict.
-- Params: tenant, consumer, status, subject, id, before_received_at_ms, limit
select i.*, :now as read_at_ms
from :schema.inbox as i
where (:tenant::text is null or i.tenant = :tenant::text)
  and (:consumer::text is null or i.consumer = :consumer::text)
  and (:status::text is null or i.status = :status::text)
  and (:subject::text is null or i.subject = :subject::text)
  and (:id::text is null or i.id = :id::text)
  and (:before_received_at_ms::bigint is null or i.received_at_ms < :before_received_at_ms::bigint)
order by i.received_at_ms desc, i.tenant, i.consumer, i.source, i.id
limit :limit::integer
