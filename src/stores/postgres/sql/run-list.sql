-- Returns runs, newest first. A parameter that is null doesn't restrict.
-- Params: tenant, flow, status, after_created_at_ms, after_tenant, after_run_id, limit
select r.*, :now as read_at_ms
from :schema.runs as r
where (:tenant::text is null or r.tenant = :tenant::text)
  and (:flow::text is null or r.flow = :flow::text)
  and (:status::text is null or r.status = :status::text)
  and (:after_created_at_ms::bigint is null
    or r.created_at_ms < :after_created_at_ms::bigint
    or (r.created_at_ms = :after_created_at_ms::bigint and (r.tenant, r.run_id) > (:after_tenant::text, :after_run_id::text)))
order by r.created_at_ms desc, r.tenant, r.run_id
limit :limit::integer
