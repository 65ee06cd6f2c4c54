-- Returns a tool's closed operations after a position, oldest first. What nothing was sent of, what
-- waits for a person already and what is purged is left out.
-- Params: tool, settled_at_ms, tenant, key, until_ms, all (1: also those sent once and DONE), limit
select o.*, :now as read_at_ms
from nevertwice_operations as o
where o.status in ('DONE', 'FAILED') and o.purged_at_ms is null
  and o.tool = :tool and o.incident is null and o.attempts > 0
  and (:all = 1 or o.attempts > 1 or o.status = 'FAILED')
  and o.settled_at_ms < :until_ms
  and o.settled_at_ms >= :settled_at_ms
  and (o.settled_at_ms, o.tenant, o.key) > (:settled_at_ms, :tenant, :key)
order by o.settled_at_ms, o.tenant, o.key
limit :limit
