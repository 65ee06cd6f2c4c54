-- Returns events of a consumer that wait to be handled again and whose time has come, oldest first.
-- Params: consumer, limit
select i.*, :now as read_at_ms
from :schema.inbox as i
where i.consumer = :consumer and i.status = 'PENDING' and i.due_at_ms <= (select :now)
order by i.due_at_ms
limit :limit::integer
