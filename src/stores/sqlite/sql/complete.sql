-- Records evidence that effects exist and returns the rows that became DONE. Knowledge is merged
-- whatever the token (R14).
-- No row for a key: it is settled already, and the caller compares.
-- Params: rows (JSON array of completions, no key twice)
with input as (
  select
    each.value ->> 'tenant' as tenant,
    each.value ->> 'key' as key,
    each.value ->> 'result_kind' as result_kind,
    each.value ->> 'result' as result,
    each.value ->> 'provider_id' as provider_id,
    each.value ->> 'event' as event,
    each.value ->> 'detail' as detail
  from json_each(:rows) as each
)
update nevertwice_operations as o set
  status = 'DONE',
  result_kind = i.result_kind,
  result = i.result,
  provider_id = i.provider_id,
  review_reason = null,
  error = null,
  lease_until_ms = :now,
  settled_at_ms = :now,
  version = o.version + 1,
  journal_seq = o.journal_seq + 1,
  event = i.event,
  event_at_ms = :now,
  event_detail = i.detail
from input as i
where o.tenant = i.tenant and o.key = i.key and o.status not in ('DONE', 'FAILED')
returning *, :now as read_at_ms
