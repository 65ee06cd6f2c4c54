-- Arms a change of a target that we own and returns its row.
-- No row: another owns it, a newer version was recorded, or an earlier change may still be under way.
-- Params: tenant, operation, target, token, version, round, quiet_ms, lease_ms
update nevertwice_targets as t set
  round = :round,
  status = 'ARMED',
  armed_version = t.version,
  quiet_until_ms = :now + :quiet_ms,
  lease_until_ms = :now + :lease_ms
where t.tenant = :tenant and t.operation = :operation and t.target = :target
  and t.token = :token and t.version = :version and t.lease_until_ms > :now and t.quiet_until_ms <= :now
returning *, :now as read_at_ms
