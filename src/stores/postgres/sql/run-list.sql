-- Returns runs, newest first. A parameter that is null doesn't restrict.
-- Params: tenant, flow, status, before_created_at_ms, limit
select r.*, :now as read_at_ms
from :schema.runs as r
where (:tenant::text is null or r.tenant = :tenant::text)
  and (:flow::text is null or r.flow = :flow::text)
  and (:status::text is null or r.status = :status::text)
  and (:before_created_at_ms::bigint is null or r.created_at_ms < :before_created_at_ms::bigint)
order by r.created_at_ms desc, r.tenant, r.run_id
limit :limit::integer
