-- Returns the row of a target.
-- Params: tenant, operation, target
select t.*, :now as read_at_ms from :schema.targets as t
where t.tenant = :tenant::text and t.operation = :operation::text and t.target = :target::text
