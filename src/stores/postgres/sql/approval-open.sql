-- Asks for an approval in a run that we own and returns it; one that was asked for stays as it is.
-- No row: another owns the run.
-- Params: tenant, run_id, token, name, key, fingerprint, payload, wait_ms
insert into :schema.approvals as a (
  tenant, run_id, name, key, fingerprint, payload, status, created_at_ms, expires_at_ms
)
select r.tenant, r.run_id, :name::text, :key::text, :fingerprint::text, :payload::text, 'OPEN', :now,
  :now + :wait_ms::bigint
from :schema.runs as r
where r.tenant = :tenant::text and r.run_id = :run_id::text and r.token = :token::bigint and r.status = 'RUNNING'
for share of r
on conflict (tenant, run_id, name) do update set version = a.version
returning a.*, :now as read_at_ms
