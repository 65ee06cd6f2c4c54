-- Returns events of the outbox, newest first. A parameter that is null doesn't restrict;
-- what was given up is listed only where no status is asked for.
-- Params: tenant, status, subject, id, before_position, limit
select o.*, :now as read_at_ms
from :schema.outbox as o
where (:tenant::text is null or o.tenant = :tenant::text)
  and (:status::text is null or (o.status = :status::text and o.discarded_by is null))
  and (:subject::text is null or o.subject = :subject::text)
  and (:id::text is null or o.id = :id::text)
  and (:before_position::bigint is null or o.position < :before_position::bigint)
order by o.position desc
limit :limit::integer
