-- Returns operations, newest first. A parameter that is null doesn't restrict.
-- Params: tenant, status, operation, review, after_created_at_ms, after_tenant, after_key, limit
select o.*, :now as read_at_ms
from nevertwice_operations as o
where (:tenant is null or o.tenant = :tenant)
  and (:status is null or o.status = :status)
  and (:operation is null or o.operation = :operation)
  and (:review = 0 or o.status = 'NEEDS_REVIEW' or o.incident is not null)
  and (:after_created_at_ms is null
    or o.created_at_ms < :after_created_at_ms
    or (o.created_at_ms = :after_created_at_ms and (o.tenant, o.key) > (:after_tenant, :after_key)))
order by o.created_at_ms desc, o.tenant, o.key
limit :limit
