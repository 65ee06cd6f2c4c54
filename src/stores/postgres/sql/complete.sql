-- Records evidence that effects exist and returns the rows that became DONE. Knowledge is merged
-- whatever the token (R14).
-- No row for a key: it is settled already, and the caller compares.
-- Params: rows (JSON array of completions, no key twice)
with clock as materialized (select :now as now_ms),
input as (
  select * from json_to_recordset(:rows::json) as r (
    tenant text, key text, result_kind text, result text, provider_id text, event text, detail text)
  -- Tells the planner how few they are: it would rather scan the whole table.
  limit json_array_length(:rows::json)
)
update :schema.operations as o set
  status = 'DONE',
  result_kind = i.result_kind,
  result = i.result,
  provider_id = i.provider_id,
  review_reason = null,
  error = null,
  lease_until_ms = clock.now_ms,
  settled_at_ms = clock.now_ms,
  version = o.version + 1,
  journal_seq = o.journal_seq + 1,
  event = i.event,
  event_at_ms = clock.now_ms,
  event_detail = i.detail
from input as i, clock
where o.tenant = i.tenant and o.key = i.key and o.status not in ('DONE', 'FAILED')
returning o.*, clock.now_ms as read_at_ms
