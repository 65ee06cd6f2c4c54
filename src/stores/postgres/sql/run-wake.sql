-- Wakes a run and returns its row; one that is being worked on looks once more before it sleeps.
-- No row: it has ended.
-- Params: tenant, run_id
update :schema.runs as r set
  wakes = r.wakes + 1,
  due_at_ms = case when r.status = 'WAITING' then :now else r.due_at_ms end
where r.tenant = :tenant and r.run_id = :run_id and r.status in ('RUNNING', 'WAITING')
returning r.*, :now as read_at_ms
