-- Records a decision about exactly what was looked at and returns the approval.
-- No row: it was decided, has expired (or, for EXPIRED, has not), its run has ended, or is another version or payload.
-- Params: tenant, run_id, name, version, fingerprint, status, decided_by, why
update nevertwice_approvals as a set
  status = :status,
  decided_by = :decided_by,
  why = :why,
  version = a.version + 1,
  decided_at_ms = :now
where a.tenant = :tenant and a.run_id = :run_id and a.name = :name
  and a.version = :version and a.fingerprint = :fingerprint and a.status = 'OPEN'
  and (a.expires_at_ms <= :now) = (:status = 'EXPIRED')
  and (:status = 'EXPIRED' or exists (
    select 1 from nevertwice_runs as r
    where r.tenant = a.tenant and r.run_id = a.run_id and r.status in ('RUNNING', 'WAITING')
  ))
returning *, :now as read_at_ms
