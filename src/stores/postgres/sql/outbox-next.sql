-- Returns how long it is until the next event is due; below zero when one is.
-- No row: none waits.
-- Params: none
select c.due_at_ms - :now as wait_ms
from :schema.outbox as c
where c.status = 'PENDING'
  and (c.subject is null or not exists (
    select 1 from :schema.outbox as earlier
    where earlier.tenant = c.tenant and earlier.subject = c.subject and earlier.status = 'PENDING'
      and earlier.position < c.position
  ))
order by c.due_at_ms
limit 1
