-- Records a person's decision; returns the row.
-- No row: the row changed since it was looked at, doesn't wait for a decision, or it is too early to
-- say "it did not happen" (R30). A row that can't be read is repaired by a final decision only. A settled operation is decided only when an incident was flagged.
-- Params: tenant, key, version, status, result_kind, result, provider_id, error, run_again, repair, detail
with clock as materialized (select :now as now_ms)
update :schema.operations as o set
  status = :status,
  result_kind = case
    when :status = 'DONE' and (o.status <> 'DONE' or :repair::integer = 1) then :result_kind else o.result_kind end,
  result = case
    when :status = 'DONE' and (o.status <> 'DONE' or :repair::integer = 1) then :result else o.result end,
  provider_id = coalesce(o.provider_id, :provider_id),
  error = coalesce(:error, o.error),
  generation = o.generation + :run_again::integer,
  attempts_in_generation = case when :run_again::integer = 1 then 0 else o.attempts_in_generation end,
  first_armed_at_ms = case when :run_again::integer = 1 then null else o.first_armed_at_ms end,
  arguments = case when :repair::integer = 1 then '{}' else o.arguments end,
  wire_key = case when :repair::integer = 1 then coalesce(o.wire_key, '') else o.wire_key end,
  token = greatest(o.token, 0),
  review_reason = null,
  incident = null,
  settled_at_ms = case when :status = 'UNKNOWN' then null else clock.now_ms end,
  due_at_ms = clock.now_ms,
  sweeps = 0,
  version = o.version + 1,
  journal_seq = o.journal_seq + 1,
  event = 'review.resolved',
  event_at_ms = clock.now_ms,
  event_detail = :detail
from clock
where o.tenant = :tenant and o.key = :key and o.version = :version
  and (
    o.status = 'NEEDS_REVIEW'
    or (o.status in ('IN_PROGRESS', 'UNKNOWN') and o.incident is not null)
    or (o.status = 'FAILED' and o.incident is not null and :status in ('DONE', 'FAILED'))
    or (o.status = 'DONE' and o.incident is not null and :status = 'DONE')
  )
  and (:repair::integer = 0 or :status <> 'UNKNOWN')
  and (:status = 'DONE' or (:status = 'UNKNOWN' and :run_again::integer = 0) or clock.now_ms > o.quiet_until_ms)
returning o.*, clock.now_ms as read_at_ms
