-- Records a run, to be worked on at once, and returns its row; a run that is there already stays as it is.
-- Params: tenant, run_id, flow, version, input, retention_ms
insert into :schema.runs as r (
  tenant, run_id, flow, version, input, status, due_at_ms, created_at_ms, updated_at_ms, retention_ms
)
values (:tenant, :run_id, :flow, :version::integer, :input, 'RUNNING', :now, :now, :now,
  :retention_ms::bigint)
on conflict (tenant, run_id) do update set version = r.version
returning r.*, :now as read_at_ms
