-- Returns journal lines in order of tenant, key and seq. A parameter that is null doesn't restrict.
-- Params: tenant, key, after_tenant, after_key, after_seq, limit
select j.tenant, j.key, j.seq, j.at_ms, j.event, j.status, j.token, j.attempts, j.detail, j.hash
from nevertwice_journal as j
where (j.tenant, j.key, j.seq)
    > (coalesce(:after_tenant, :tenant, ''), coalesce(:after_key, :key, ''), coalesce(:after_seq, 0))
  and (:tenant is null or j.tenant = :tenant)
  and (:key is null or j.key = :key)
order by j.tenant, j.key, j.seq
limit :limit
