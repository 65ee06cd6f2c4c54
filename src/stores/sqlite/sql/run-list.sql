-- Returns runs, newest first. A parameter that is null doesn't restrict.
-- Params: tenant, flow, status, before_created_at_ms, limit
select r.*, :now as read_at_ms
from nevertwice_runs as r
where (:tenant is null or r.tenant = :tenant)
  and (:flow is null or r.flow = :flow)
  and (:status is null or r.status = :status)
  and (:before_created_at_ms is null or r.created_at_ms < :before_created_at_ms)
order by r.created_at_ms desc, r.tenant, r.run_id
limit :limit
