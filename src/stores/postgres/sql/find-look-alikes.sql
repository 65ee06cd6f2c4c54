-- Returns operations that look like one operation but have another key, newest first (R26).
-- Params: tenant, key, operation, look_alike, window_ms
select o.*, :now as read_at_ms
from :schema.operations as o
where o.tenant = :tenant and o.operation = :operation and o.look_alike = :look_alike
  and o.key <> :key and o.created_at_ms >= :now - :window_ms::bigint and o.status <> 'FAILED'
order by o.created_at_ms desc
limit 10
