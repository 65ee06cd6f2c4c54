-- Returns the row of a key, or no row.
-- Params: tenant, key
select o.*, :now as read_at_ms
from :schema.operations as o
where o.tenant = :tenant and o.key = :key
