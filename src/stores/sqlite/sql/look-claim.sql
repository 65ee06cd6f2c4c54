-- Takes a stage of late looks for the length of a lease, and returns how far it has come.
-- No row: another is at it. A new stage begins so long before its time; what is older is left alone.
-- Params: tool, after_ms, begin_ms, lease_ms
insert into nevertwice_late_looks as l (tool, after_ms, settled_at_ms, tenant, key, lease_until_ms)
values (:tool, :after_ms, :now - :after_ms - :begin_ms, '', '', :now + :lease_ms)
on conflict (tool, after_ms) do update set lease_until_ms = excluded.lease_until_ms
where l.lease_until_ms <= :now
returning *, :now as read_at_ms
