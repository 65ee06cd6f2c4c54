-- Moves a stage of late looks on to a position, never back, and gives its lease back.
-- No row: it has come further already.
-- Params: tool, after_ms, settled_at_ms, tenant, key
update :schema.late_looks as l set
  settled_at_ms = :settled_at_ms::bigint,
  tenant = :tenant::text,
  key = :key::text,
  lease_until_ms = 0
where l.tool = :tool::text and l.after_ms = :after_ms::bigint
  and (l.settled_at_ms, l.tenant, l.key) <= (:settled_at_ms::bigint, :tenant::text, :key::text)
returning l.*, :now as read_at_ms
