-- Claims keys. Returns the row of each key, whoever owns it; it is ours when its acquisition_id is
-- ours, also when an earlier acknowledgement was lost (R8). A tool that may send at once is armed by
-- the same statement (R10). A key that exists gets a journal line and nothing else (R12).
-- Params: rows (JSON array of claims, no key twice)
with clock as materialized (select :now as now_ms),
input as (
  select * from json_to_recordset(:rows::json) as r (
    tenant text, key text, key_algorithm text, operation text, tool text, intent text,
    fingerprint text, arguments text, acquisition_id text, lease_ms bigint, arm integer,
    wire_key text, quiet_ms bigint, retention_ms bigint, supersedes text, look_alike text, detail text)
)
insert into :schema.operations as o (
  tenant, key, key_algorithm, operation, tool, intent, fingerprint, arguments, status, token,
  acquisition_id, lease_until_ms, due_at_ms, attempts, attempts_in_generation, first_armed_at_ms,
  last_armed_at_ms, quiet_until_ms, wire_key, supersedes, look_alike, retention_ms, created_at_ms,
  journal_seq, event, event_at_ms, event_detail
)
select tenant, key, key_algorithm, operation, tool, intent, fingerprint, arguments, 'IN_PROGRESS',
  nextval(':schema.tokens'), acquisition_id, now_ms + lease_ms, now_ms + lease_ms, arm, arm,
  case when arm = 1 then now_ms end, case when arm = 1 then now_ms end,
  case when arm = 1 then now_ms + quiet_ms else 0 end, wire_key, supersedes, look_alike,
  retention_ms, now_ms, 1 + arm,
  case when arm = 1 then 'operation.armed' else 'operation.claimed' end, now_ms, detail
from input, clock
order by tenant, key
on conflict (tenant, key) do update set
  journal_seq = o.journal_seq + 1,
  event = 'operation.repeated',
  event_at_ms = excluded.event_at_ms,
  event_detail = excluded.event_detail
returning o.*, :now as read_at_ms
