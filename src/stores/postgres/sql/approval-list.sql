-- Returns approvals, newest first. A parameter that is null doesn't restrict. As OPEN are listed those
-- that can be decided: their time is not over, and their run has not ended.
-- Params: tenant, run_id, status, after_created_at_ms, after_tenant, after_run_id, after_name, limit
select a.*, :now as read_at_ms
from :schema.approvals as a
where (:tenant::text is null or a.tenant = :tenant::text)
  and (:run_id::text is null or a.run_id = :run_id::text)
  and (:status::text is null or a.status = :status::text)
  and (:status::text is null or :status::text <> 'OPEN' or (a.expires_at_ms > :now and exists (
    select 1 from :schema.runs as r
    where r.tenant = a.tenant and r.run_id = a.run_id and r.status in ('RUNNING', 'WAITING')
  )))
  and (:after_created_at_ms::bigint is null
    or a.created_at_ms < :after_created_at_ms::bigint
    or (a.created_at_ms = :after_created_at_ms::bigint and (a.tenant, a.run_id, a.name) > (:after_tenant::text, :after_run_id::text, :after_name::text)))
order by a.created_at_ms desc, a.tenant, a.run_id, a.name
limit :limit::integer
