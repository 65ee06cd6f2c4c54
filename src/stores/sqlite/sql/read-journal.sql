-- Returns journal lines in order of tenant, key and seq. A parameter that is null doesn't restrict.
-- Params: tenant, key, after_tenant, after_key, after_seq, limit
select j.tenant, j.key, j.seq, j.at_ms, j.event, j.status, j.token, j.attempts, j.detail, j.hash
from nevertwice_journal as j
where (:tenant is null or j.tenant = :tenant)
  and (:key is null or j.key = :key)
  and (
    :after_tenant is null
    or (j.tenant, j.key, j.seq) > (:after_tenant, :after_key, :after_seq)
  )
order by j.tenant, j.key, j.seq
limit :limit
