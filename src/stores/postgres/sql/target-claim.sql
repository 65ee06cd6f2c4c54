-- Records the version of a target's desired state, takes its lease if that is free, and returns its row.
-- An older version, and the same with another fingerprint, change nothing. Changes of other versions
-- that may be under way keep their quiet time.
-- Params: tenant, operation, target, version, fingerprint, acquisition_id, lease_ms
insert into :schema.targets as t (
  tenant, operation, target, version, fingerprint, round, status, token, acquisition_id,
  lease_until_ms
)
values (:tenant::text, :operation::text, :target::text, :version::bigint, :fingerprint::text, 1, 'OPEN', 1,
  :acquisition_id::text, :now + :lease_ms::bigint)
on conflict (tenant, operation, target) do update set
  version = case when excluded.version > t.version then excluded.version else t.version end,
  fingerprint = case when excluded.version > t.version then excluded.fingerprint else t.fingerprint end,
  round = case when excluded.version > t.version then 1 else t.round end,
  status = case when excluded.version > t.version then 'OPEN' else t.status end,
  token = case when (excluded.version > t.version
      or (excluded.version = t.version and excluded.fingerprint = t.fingerprint))
    and t.lease_until_ms <= :now
    then t.token + 1 else t.token end,
  acquisition_id = case when (excluded.version > t.version
      or (excluded.version = t.version and excluded.fingerprint = t.fingerprint))
    and t.lease_until_ms <= :now
    then excluded.acquisition_id else t.acquisition_id end,
  lease_until_ms = case when (excluded.version > t.version
      or (excluded.version = t.version and excluded.fingerprint = t.fingerprint))
    and t.lease_until_ms <= :now
    then excluded.lease_until_ms else t.lease_until_ms end
returning t.*, :now as read_at_ms
