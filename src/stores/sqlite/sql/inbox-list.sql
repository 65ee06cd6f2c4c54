-- Returns received events, newest first. A parameter that is null doesn't restrict.
-- Params: tenant, consumer, status, subject, source, id, after_received_at_ms, after_tenant, after_consumer, after_source, after_id, limit
select i.*, :now as read_at_ms
from nevertwice_inbox as i
where (:tenant is null or i.tenant = :tenant)
  and (:consumer is null or i.consumer = :consumer)
  and (:status is null or i.status = :status)
  and (:subject is null or i.subject = :subject)
  and (:source is null or i.source = :source)
  and (:id is null or i.id = :id)
  and (:after_received_at_ms is null
    or i.received_at_ms < :after_received_at_ms
    or (i.received_at_ms = :after_received_at_ms and (i.tenant, i.consumer, i.source, i.id) > (:after_tenant, :after_consumer, :after_source, :after_id)))
order by i.received_at_ms desc, i.tenant, i.consumer, i.source, i.id
limit :limit
