-- Hands out runs whose time has come, each with a new token and a lease.
-- Params: flows (JSON array of objects: flow, version), tenant, run_id, lease_ms, limit
update nevertwice_runs as r set
  status = 'RUNNING',
  waits_for = null,
  token = r.token + 1,
  attempts = r.attempts + 1,
  due_at_ms = :now + :lease_ms,
  updated_at_ms = :now
where (r.tenant, r.run_id) in (
  select c.tenant, c.run_id from nevertwice_runs as c
  where c.due_at_ms <= :now and c.status in ('RUNNING', 'WAITING')
    and (:run_id is null or (c.tenant = :tenant and c.run_id = :run_id))
    and exists (select 1 from (
      select each.value ->> 'flow' as flow, each.value ->> 'version' as version from json_each(:flows) as each
    ) as f where f.flow = c.flow and f.version = c.version)
  order by c.due_at_ms
  limit :limit
)
returning *, :now as read_at_ms
