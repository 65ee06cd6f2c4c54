-- Records "attempt n goes now" and returns the row.
-- No row: the token is stale, the attempt is already armed, or sending is not safe any more. Safe is
-- the first send of a generation, a resend inside the key's window (R19), and a new generation whose
-- absence was looked up after everything had settled (R21).
-- Params: tenant, key, token, attempts, lease_ms, quiet_ms, resend_span_ms, new_generation, looked_at_ms, wire_key, detail
with clock as materialized (select :now as now_ms)
update :schema.operations as o set
  attempts = o.attempts + 1,
  generation = o.generation + :new_generation::integer,
  attempts_in_generation = case when :new_generation::integer = 1 then 1 else o.attempts_in_generation + 1 end,
  first_armed_at_ms = case
    when :new_generation::integer = 1 or o.first_armed_at_ms is null then clock.now_ms else o.first_armed_at_ms end,
  last_armed_at_ms = clock.now_ms,
  quiet_until_ms = greatest(o.quiet_until_ms, clock.now_ms + :quiet_ms::bigint),
  wire_key = :wire_key,
  lease_until_ms = clock.now_ms + :lease_ms::bigint,
  due_at_ms = clock.now_ms + :lease_ms::bigint,
  version = o.version + 1,
  journal_seq = o.journal_seq + 1,
  event = case when o.attempts_in_generation = 0 then 'operation.armed' else 'operation.resent' end,
  event_at_ms = clock.now_ms,
  event_detail = :detail
from clock
where o.tenant = :tenant and o.key = :key and o.token = :token and o.status = 'IN_PROGRESS' and o.attempts = :attempts
  and (
    (o.attempts_in_generation = 0 and :new_generation::integer = 0)
    or (:new_generation::integer = 0 and :resend_span_ms::bigint > 0
      and clock.now_ms < o.first_armed_at_ms + :resend_span_ms::bigint)
    or (:new_generation::integer = 1 and :looked_at_ms::bigint > o.quiet_until_ms)
  )
returning o.*, clock.now_ms as read_at_ms
