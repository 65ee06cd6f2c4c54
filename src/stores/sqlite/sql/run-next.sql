-- Returns how long it is until the next run is due; below zero when one is.
-- No row: none waits for a time.
-- Params: flows (JSON array of objects: flow, version)
select r.due_at_ms - :now as wait_ms
from nevertwice_runs as r
where r.due_at_ms is not null
  and exists (select 1 from (
      select each.value ->> 'flow' as flow, each.value ->> 'version' as version from json_each(:flows) as each
    ) as f where f.flow = r.flow and f.version = r.version)
order by r.due_at_ms
limit 1
