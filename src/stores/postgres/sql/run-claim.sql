-- Hands out runs whose time has come, each with a new token and a lease.
-- Params: flows (JSON array of objects: flow, version), tenant, run_id, lease_ms, limit
with picked as materialized (
  select c.tenant, c.run_id from :schema.runs as c
  where c.due_at_ms <= (select :now) and c.status in ('RUNNING', 'WAITING')
    and (:run_id::text is null or (c.tenant = :tenant::text and c.run_id = :run_id::text))
    and exists (select 1 from json_to_recordset(:flows::json) as f (flow text, version integer) where f.flow = c.flow and f.version = c.version)
  order by c.due_at_ms
  limit :limit::integer
  for update of c skip locked
)
update :schema.runs as r set
  status = 'RUNNING',
  waits_for = null,
  token = r.token + 1,
  attempts = r.attempts + 1,
  due_at_ms = :now + :lease_ms::bigint,
  updated_at_ms = :now
from picked
where r.tenant = picked.tenant and r.run_id = picked.run_id
returning r.*, :now as read_at_ms
