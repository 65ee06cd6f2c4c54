-- Returns journal lines in order of tenant, key and seq. A parameter that is null doesn't restrict.
-- Params: tenant, key, after_tenant, after_key, after_seq, limit
select j.tenant, j.key, j.seq, j.at_ms, j.event, j.status, j.token, j.attempts, j.detail, j.hash
from :schema.journal as j
where (:tenant::text is null or j.tenant = :tenant::text)
  and (:key::text is null or j.key = :key::text)
  and (
    :after_tenant::text is null
    or (j.tenant, j.key, j.seq) > (:after_tenant::text, :after_key::text, :after_seq::integer)
  )
order by j.tenant, j.key, j.seq
limit :limit::integer
