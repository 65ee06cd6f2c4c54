-- Returns approvals, newest first. A parameter that is null doesn't restrict. As OPEN are listed those
-- that can be decided: their time is not over, and their run has not ended.
-- Params: tenant, run_id, status, after_created_at_ms, after_tenant, after_run_id, after_name, limit
select a.*, :now as read_at_ms
from nevertwice_approvals as a
where (:tenant is null or a.tenant = :tenant)
  and (:run_id is null or a.run_id = :run_id)
  and (:status is null or a.status = :status)
  and (:status is null or :status <> 'OPEN' or (a.expires_at_ms > :now and exists (
    select 1 from nevertwice_runs as r
    where r.tenant = a.tenant and r.run_id = a.run_id and r.status in ('RUNNING', 'WAITING')
  )))
  and (:after_created_at_ms is null
    or a.created_at_ms < :after_created_at_ms
    or (a.created_at_ms = :after_created_at_ms and (a.tenant, a.run_id, a.name) > (:after_tenant, :after_run_id, :after_name)))
order by a.created_at_ms desc, a.tenant, a.run_id, a.name
limit :limit
