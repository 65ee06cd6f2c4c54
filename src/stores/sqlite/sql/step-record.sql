-- Records a step of a run that we own and returns it. A step that has STARTED may become DONE; nothing
-- else ever changes it.
-- No row: another owns the run, or the step is recorded otherwise.
-- Params: tenant, run_id, token, name, position, concurrent, kind, status, key, fingerprint, value
insert into nevertwice_steps as s (
  tenant, run_id, name, position, concurrent, kind, status, key, fingerprint, value, started_at_ms,
  settled_at_ms
)
select r.tenant, r.run_id, :name, :position, :concurrent, :kind, :status, :key, :fingerprint,
  :value, :now, case when :status = 'DONE' then :now end
from nevertwice_runs as r
where r.tenant = :tenant and r.run_id = :run_id and r.token = :token and r.status = 'RUNNING'
on conflict (tenant, run_id, name) do update set
  status = excluded.status,
  value = excluded.value,
  settled_at_ms = excluded.settled_at_ms
where s.status = 'STARTED' and s.kind = excluded.kind
  and s.key is excluded.key and s.fingerprint is excluded.fingerprint
returning *, :now as read_at_ms
