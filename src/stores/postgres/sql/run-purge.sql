-- Empties ended runs past their retention and returns their ids. The row stays, so that a late
-- duplicate of the same run is refused and not run again (R23).
-- Params: limit
with picked as materialized (
  select tenant, run_id from :schema.runs
  where settled_at_ms is not null and purged_at_ms is null and settled_at_ms < (select :now) - retention_ms
  order by settled_at_ms
  limit :limit::integer
  for update skip locked
)
update :schema.runs as r set input = 'null', output = null, error = null, purged_at_ms = :now
from picked
where r.tenant = picked.tenant and r.run_id = picked.run_id
returning r.run_id
