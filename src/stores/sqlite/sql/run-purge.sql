-- Empties ended runs past their retention and returns their ids. The row stays, so that a late
-- duplicate of the same run is refused and not run again (R23).
-- Params: limit
update nevertwice_runs as r set input = 'null', output = null, error = null, purged_at_ms = :now
where (r.tenant, r.run_id) in (
  select tenant, run_id from nevertwice_runs
  where settled_at_ms is not null and purged_at_ms is null and settled_at_ms < :now - retention_ms
  order by settled_at_ms
  limit :limit
)
returning run_id
