-- Asks for an approval in a run that we own and returns it; one that was asked for stays as it is.
-- No row: another owns the run.
-- Params: tenant, run_id, token, name, key, fingerprint, payload, wait_ms
insert into nevertwice_approvals as a (
  tenant, run_id, name, key, fingerprint, payload, status, created_at_ms, expires_at_ms
)
select r.tenant, r.run_id, :name, :key, :fingerprint, :payload, 'OPEN', :now,
  :now + :wait_ms
from nevertwice_runs as r
where r.tenant = :tenant and r.run_id = :run_id and r.token = :token and r.status = 'RUNNING'
on conflict (tenant, run_id, name) do update set version = a.version
returning *, :now as read_at_ms
