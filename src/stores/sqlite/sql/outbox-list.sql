-- Returns events of the outbox, newest first. A parameter that is null doesn't restrict;
-- what was given up is listed only where no status is asked for.
-- Params: tenant, status, subject, id, before_position, limit
select o.*, :now as read_at_ms
from nevertwice_outbox as o
where (:tenant is null or o.tenant = :tenant)
  and (:status is null or (o.status = :status and o.discarded_by is null))
  and (:subject is null or o.subject = :subject)
  and (:id is null or o.id = :id)
  and (:before_position is null or o.position < :before_position)
order by o.position desc
limit :limit
