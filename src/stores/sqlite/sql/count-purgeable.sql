-- Returns how many settled operations are past their retention.
-- Params: none
select count(*) as count
from nevertwice_operations
where status in ('DONE', 'FAILED') and purged_at_ms is null and incident is null
    and settled_at_ms < :now - retention_ms
