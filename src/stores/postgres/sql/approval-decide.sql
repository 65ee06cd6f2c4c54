-- Records a decision about exactly what was looked at and returns the approval.
-- No row: it was decided, has expired (or, for EXPIRED, has not), its run has ended, or is another version or payload.
-- Params: tenant, run_id, name, version, fingerprint, status, decided_by, why
update :schema.approvals as a set
  status = :status::text,
  decided_by = :decided_by::text,
  why = :why::text,
  version = a.version + 1,
  decided_at_ms = :now
where a.tenant = :tenant::text and a.run_id = :run_id::text and a.name = :name::text
  and a.version = :version::integer and a.fingerprint = :fingerprint::text and a.status = 'OPEN'
  and (a.expires_at_ms <= :now) = (:status::text = 'EXPIRED')
  and (:status::text = 'EXPIRED' or exists (
    select 1 from :schema.runs as r
    where r.tenant = a.tenant and r.run_id = a.run_id and r.status in ('RUNNING', 'WAITING')
  ))
returning a.*, :now as read_at_ms
