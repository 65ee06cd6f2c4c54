-- Returns the steps of a run in the order in which they began.
-- Params: tenant, run_id
select s.*, :now as read_at_ms
from nevertwice_steps as s
where s.tenant = :tenant and s.run_id = :run_id
order by s.position, s.name
