-- Returns operations that no live acquisition looks after and whose time has come, oldest first. A
-- claim of which nothing was ever sent is left to its caller: nothing about it is in doubt.
-- Params: tools (JSON array of names), limit
select o.*, :now as read_at_ms
from nevertwice_operations as o
where o.status in ('IN_PROGRESS', 'UNKNOWN') and o.due_at_ms <= :now
  and o.incident is null
  and (o.status = 'UNKNOWN' or (o.lease_until_ms <= :now and o.attempts > 0))
  and o.tool in (select value from json_each(:tools))
order by o.due_at_ms
limit :limit
