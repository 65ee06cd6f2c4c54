-- Returns an approval.
-- No row: none was asked for.
-- Params: tenant, run_id, name
select a.*, :now as read_at_ms
from nevertwice_approvals as a
where a.tenant = :tenant and a.run_id = :run_id and a.name = :name
