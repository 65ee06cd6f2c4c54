-- Returns the row of a target.
-- Params: tenant, operation, target
select t.*, :now as read_at_ms from nevertwice_targets as t
where t.tenant = :tenant and t.operation = :operation and t.target = :target
