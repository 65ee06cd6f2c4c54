-- Returns operations, newest first. A parameter that is null doesn't restrict.
-- Params: tenant, status, operation, review, after_created_at_ms, after_tenant, after_key, limit
select o.*, :now as read_at_ms
from :schema.operations as o
where (:tenant::text is null or o.tenant = :tenant::text)
  and (:status::text is null or o.status = :status::text)
  and (:operation::text is null or o.operation = :operation::text)
  and (:review::integer = 0 or o.status = 'NEEDS_REVIEW' or o.incident is not null)
  and (:after_created_at_ms::bigint is null
    or o.created_at_ms < :after_created_at_ms::bigint
    or (o.created_at_ms = :after_created_at_ms::bigint and (o.tenant, o.key) > (:after_tenant::text, :after_key::text)))
order by o.created_at_ms desc, o.tenant, o.key
limit :limit::integer
