-- Claims keys. Returns the row of each key, whoever owns it; it is ours when its acquisition_id is
-- ours, also when an earlier acknowledgement was lost (R8). A tool that may send at once is armed by
-- the same statement (R10). A key that exists gets a journal line and nothing else (R12).
-- Params: rows (JSON array of claims, no key twice)
with input as (
  select
    each.key as position,
    each.value ->> 'tenant' as tenant,
    each.value ->> 'key' as key,
    each.value ->> 'key_algorithm' as key_algorithm,
    each.value ->> 'operation' as operation,
    each.value ->> 'tool' as tool,
    each.value ->> 'intent' as intent,
    each.value ->> 'fingerprint' as fingerprint,
    each.value ->> 'arguments' as arguments,
    each.value ->> 'acquisition_id' as acquisition_id,
    each.value ->> 'lease_ms' as lease_ms,
    each.value ->> 'arm' as arm,
    each.value ->> 'wire_key' as wire_key,
    each.value ->> 'quiet_ms' as quiet_ms,
    each.value ->> 'retention_ms' as retention_ms,
    each.value ->> 'supersedes' as supersedes,
    each.value ->> 'look_alike' as look_alike,
    each.value ->> 'detail' as detail
  from json_each(:rows) as each
)
insert into nevertwice_operations (
  tenant, key, key_algorithm, operation, tool, intent, fingerprint, arguments, status, token,
  acquisition_id, lease_until_ms, due_at_ms, attempts, attempts_in_generation, first_armed_at_ms,
  last_armed_at_ms, quiet_until_ms, wire_key, supersedes, look_alike, retention_ms, created_at_ms,
  journal_seq, event, event_at_ms, event_detail
)
select tenant, key, key_algorithm, operation, tool, intent, fingerprint, arguments, 'IN_PROGRESS',
  position + 1
    + coalesce((select seq from sqlite_sequence where name = 'nevertwice_journal'), 0),
  acquisition_id, :now + lease_ms, :now + lease_ms, arm, arm,
  case when arm = 1 then :now end, case when arm = 1 then :now end,
  case when arm = 1 then :now + quiet_ms else 0 end, wire_key, supersedes, look_alike,
  retention_ms, :now, 1 + arm,
  case when arm = 1 then 'operation.armed' else 'operation.claimed' end, :now, detail
from input
where true
on conflict (tenant, key) do update set
  journal_seq = journal_seq + 1,
  event = 'operation.repeated',
  event_at_ms = excluded.event_at_ms,
  event_detail = excluded.event_detail
returning *, :now as read_at_ms
