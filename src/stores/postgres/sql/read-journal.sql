-- Returns journal lines in order of tenant, key and seq. A parameter that is null doesn't restrict.
-- Params: tenant, key, after_tenant, after_key, after_seq, limit
select j.tenant, j.key, j.seq, j.at_ms, j.event, j.status, j.token, j.attempts, j.detail, j.hash
from :schema.journal as j
where (j.tenant, j.key, j.seq)
    > (coalesce(:after_tenant::text, :tenant::text, ''), coalesce(:after_key::text, :key::text, ''), coalesce(:after_seq::integer, 0))
  and (:tenant::text is null or j.tenant = :tenant::text)
  and (:key::text is null or j.key = :key::text)
order by j.tenant, j.key, j.seq
limit :limit::integer
