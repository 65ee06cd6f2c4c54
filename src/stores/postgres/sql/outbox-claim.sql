-- Hands out events to publish, with a token and a lease: of each subject only the first that waits, so
-- that a subject's events leave in their order.
-- Params: lease_ms, limit
update :schema.outbox as o set
  token = o.token + 1,
  attempts = o.attempts + 1,
  due_at_ms = :now + :lease_ms::bigint
where o.position = any(array(
  select c.position from :schema.outbox as c
  where c.status = 'PENDING' and c.due_at_ms <= (select :now)
    and (c.subject is null or not exists (
      select 1 from :schema.outbox as earlier
      where earlier.tenant = c.tenant and earlier.subject = c.subject and earlier.status = 'PENDING'
        and earlier.position < c.position
    ))
  order by c.position
  limit :limit::integer
  for update of c skip locked
))
returning o.*, :now as read_at_ms
