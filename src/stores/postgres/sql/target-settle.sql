-- Gives back the lease of a target that we own, with what is known of its round, and returns its row.
-- No row: another owns it. What is known of an older version says nothing of the recorded one.
-- Params: tenant, operation, target, token, version, status, answered
update :schema.targets as t set
  status = case when t.version = :version::bigint then coalesce(:status::text, t.status) else t.status end,
  quiet_until_ms = case when :answered::integer = 1 then 0 else t.quiet_until_ms end,
  lease_until_ms = 0
where t.tenant = :tenant::text and t.operation = :operation::text and t.target = :target::text
  and t.token = :token::bigint
returning t.*, :now as read_at_ms
