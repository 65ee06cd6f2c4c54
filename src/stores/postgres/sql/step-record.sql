-- Records a step of a run that we own and returns it. A step that has STARTED may become DONE; nothing
-- else ever changes it.
-- No row: another owns the run, or the step is recorded otherwise.
-- Params: tenant, run_id, token, name, position, concurrent, kind, status, key, fingerprint, value
insert into :schema.steps as s (
  tenant, run_id, name, position, concurrent, kind, status, key, fingerprint, value, started_at_ms,
  settled_at_ms
)
select r.tenant, r.run_id, :name::text, :position::integer, :concurrent::integer, :kind::text, :status::text, :key::text, :fingerprint::text,
  :value::text, :now, case when :status::text = 'DONE' then :now end
from :schema.runs as r
where r.tenant = :tenant::text and r.run_id = :run_id::text and r.token = :token::bigint and r.status = 'RUNNING'
for share of r
on conflict (tenant, run_id, name) do update set
  status = excluded.status,
  value = excluded.value,
  settled_at_ms = excluded.settled_at_ms
where s.status = 'STARTED' and s.kind = excluded.kind
  and s.key is not distinct from excluded.key and s.fingerprint is not distinct from excluded.fingerprint
returning s.*, :now as read_at_ms
