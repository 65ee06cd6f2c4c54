-- Arms a change of a target that we own and returns its row.
-- No row: another owns it, a newer version was recorded, or an earlier change may still be under way.
-- Params: tenant, operation, target, token, version, round, quiet_ms, lease_ms
update :schema.targets as t set
  round = :round::integer,
  status = 'ARMED',
  armed_version = t.version,
  quiet_until_ms = :now + :quiet_ms::bigint,
  lease_until_ms = :now + :lease_ms::bigint
where t.tenant = :tenant::text and t.operation = :operation::text and t.target = :target::text
  and t.token = :token::bigint and t.version = :version::bigint and t.lease_until_ms > :now and t.quiet_until_ms <= :now
returning t.*, :now as read_at_ms
