-- Returns runs, newest first. A parameter that is null doesn't restrict.
-- Params: tenant, flow, status, after_created_at_ms, after_tenant, after_run_id, limit
select r.*, :now as read_at_ms
from nevertwice_runs as r
where (:tenant is null or r.tenant = :tenant)
  and (:flow is null or r.flow = :flow)
  and (:status is null or r.status = :status)
  and (:after_created_at_ms is null
    or r.created_at_ms < :after_created_at_ms
    or (r.created_at_ms = :after_created_at_ms and (r.tenant, r.run_id) > (:after_tenant, :after_run_id)))
order by r.created_at_ms desc, r.tenant, r.run_id
limit :limit
