-- Returns approvals, newest first. A parameter that is null doesn't restrict.
-- Params: tenant, run_id, status, after_created_at_ms, after_tenant, after_run_id, after_name, limit
select a.*, :now as read_at_ms
from nevertwice_approvals as a
where (:tenant is null or a.tenant = :tenant)
  and (:run_id is null or a.run_id = :run_id)
  and (:status is null or a.status = :status)
  and (:after_created_at_ms is null
    or a.created_at_ms < :after_created_at_ms
    or (a.created_at_ms = :after_created_at_ms and (a.tenant, a.run_id, a.name) > (:after_tenant, :after_run_id, :after_name)))
order by a.created_at_ms desc, a.tenant, a.run_id, a.name
limit :limit
