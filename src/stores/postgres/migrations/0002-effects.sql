-- Events and runs: the inbox and the outbox, and the durable steps of flows.

create table :schema.inbox (
  tenant text not null check (tenant <> ''),
  consumer text not null check (consumer <> ''),
  source text not null check (source <> ''),
  id text not null check (id <> ''),
  type text not null,
  subject text,
  fact text,
  event text,
  status text not null check (status in ('PENDING', 'DONE', 'DEAD')),
  receipt text not null,
  attempts integer not null,
  error text,
  received_at_ms bigint not null,
  due_at_ms bigint not null,
  settled_at_ms bigint,
  retention_ms bigint not null,
  primary key (tenant, consumer, source, id)
);

-- Two ids for one fact: only a delivery that was taken in says that the fact is known.
create unique index inbox_facts on :schema.inbox (tenant, consumer, fact)
  where fact is not null;
create index inbox_open on :schema.inbox (consumer, due_at_ms)
  where status <> 'DONE';
create index inbox_done on :schema.inbox (settled_at_ms) where status = 'DONE';

-- Positions rise in the order in which rows are written.
create table :schema.outbox (
  position bigint generated always as identity primary key,
  tenant text not null check (tenant <> ''),
  id text not null check (id <> ''),
  type text not null,
  subject text,
  event text not null,
  status text not null check (status in ('PENDING', 'PUBLISHED', 'DEAD')),
  token bigint not null default 0,
  attempts integer not null default 0,
  error text,
  created_at_ms bigint not null,
  due_at_ms bigint not null,
  settled_at_ms bigint,
  retention_ms bigint not null,
  unique (tenant, id)
);

create index outbox_due on :schema.outbox (due_at_ms) where status = 'PENDING';
create index outbox_order on :schema.outbox (tenant, subject, position)
  where status = 'PENDING' and subject is not null;
create index outbox_settled on :schema.outbox (status, settled_at_ms)
  where status <> 'PENDING';

create table :schema.runs (
  tenant text not null check (tenant <> ''),
  run_id text not null check (run_id <> ''),
  flow text not null,
  version integer not null,
  input text not null,
  status text not null check (status in ('RUNNING', 'WAITING', 'DONE', 'FAILED')),
  waits_for text,
  output text,
  error text,
  token bigint not null default 0,
  wakes integer not null default 0,
  attempts integer not null default 0,
  due_at_ms bigint,
  created_at_ms bigint not null,
  updated_at_ms bigint not null,
  settled_at_ms bigint,
  purged_at_ms bigint,
  retention_ms bigint not null,
  primary key (tenant, run_id)
);

create index runs_due on :schema.runs (due_at_ms) where due_at_ms is not null;
create index runs_by_creation on :schema.runs (created_at_ms);
create index runs_settled on :schema.runs (settled_at_ms)
  where settled_at_ms is not null and purged_at_ms is null;

create table :schema.steps (
  tenant text not null,
  run_id text not null,
  name text not null check (name <> ''),
  position integer not null,
  concurrent integer not null,
  kind text not null,
  status text not null check (status in ('STARTED', 'DONE')),
  key text,
  fingerprint text,
  value text,
  started_at_ms bigint not null,
  settled_at_ms bigint,
  primary key (tenant, run_id, name)
);

create table :schema.approvals (
  tenant text not null,
  run_id text not null,
  name text not null,
  key text not null,
  fingerprint text not null,
  payload text not null,
  status text not null check (status in ('OPEN', 'APPROVED', 'DECLINED', 'EXPIRED')),
  version integer not null default 1,
  decided_by text,
  why text,
  created_at_ms bigint not null,
  expires_at_ms bigint not null,
  decided_at_ms bigint,
  primary key (tenant, run_id, name)
);

create index approvals_open on :schema.approvals (tenant, created_at_ms)
  where status = 'OPEN';

create table :schema.targets (
  tenant text not null check (tenant <> ''),
  operation text not null check (operation <> ''),
  target text not null check (target <> ''),
  version bigint not null,
  fingerprint text not null,
  round integer not null,
  status text not null check (status in ('OPEN', 'ARMED', 'SETTLED', 'REFUSED')),
  armed_version bigint,
  quiet_until_ms bigint not null default 0,
  token bigint not null,
  acquisition_id text not null,
  lease_until_ms bigint not null,
  primary key (tenant, operation, target)
);

-- A purged run keeps its row, so that its id is never run again; its steps go.
create function :schema.purge_run() returns trigger language plpgsql as $$
begin
  delete from :schema.steps where tenant = new.tenant and run_id = new.run_id;
  delete from :schema.approvals where tenant = new.tenant and run_id = new.run_id;
  return null;
end $$;

create trigger purge_run after update of purged_at_ms on :schema.runs
  for each row execute function :schema.purge_run();
