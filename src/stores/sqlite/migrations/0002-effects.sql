-- Events and runs: the inbox and the outbox, and the durable steps of flows.

create table nevertwice_inbox (
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
  received_at_ms integer not null,
  due_at_ms integer not null,
  settled_at_ms integer,
  retention_ms integer not null,
  primary key (tenant, consumer, source, id)
) strict;

-- Two ids for one fact: only a delivery that was taken in says that the fact is known.
create unique index nevertwice_inbox_facts on nevertwice_inbox (tenant, consumer, fact)
  where fact is not null;
create index nevertwice_inbox_open on nevertwice_inbox (consumer, due_at_ms)
  where status <> 'DONE';
create index nevertwice_inbox_done on nevertwice_inbox (settled_at_ms) where status = 'DONE';

-- AUTOINCREMENT never gives a position twice, also after the last row was purged.
create table nevertwice_outbox (
  position integer primary key autoincrement,
  tenant text not null check (tenant <> ''),
  id text not null check (id <> ''),
  type text not null,
  subject text,
  event text not null,
  status text not null check (status in ('PENDING', 'PUBLISHED', 'DEAD')),
  token integer not null default 0,
  attempts integer not null default 0,
  error text,
  created_at_ms integer not null,
  due_at_ms integer not null,
  settled_at_ms integer,
  retention_ms integer not null,
  unique (tenant, id)
) strict;

create index nevertwice_outbox_due on nevertwice_outbox (due_at_ms) where status = 'PENDING';
create index nevertwice_outbox_order on nevertwice_outbox (tenant, subject, position)
  where status = 'PENDING' and subject is not null;
create index nevertwice_outbox_settled on nevertwice_outbox (status, settled_at_ms)
  where status <> 'PENDING';

create table nevertwice_runs (
  tenant text not null check (tenant <> ''),
  run_id text not null check (run_id <> ''),
  flow text not null,
  version integer not null,
  input text not null,
  status text not null check (status in ('RUNNING', 'WAITING', 'DONE', 'FAILED')),
  waits_for text,
  output text,
  error text,
  token integer not null default 0,
  wakes integer not null default 0,
  attempts integer not null default 0,
  due_at_ms integer,
  created_at_ms integer not null,
  updated_at_ms integer not null,
  settled_at_ms integer,
  purged_at_ms integer,
  retention_ms integer not null,
  primary key (tenant, run_id)
) strict;

create index nevertwice_runs_due on nevertwice_runs (due_at_ms) where due_at_ms is not null;
create index nevertwice_runs_by_creation on nevertwice_runs (created_at_ms);
create index nevertwice_runs_settled on nevertwice_runs (settled_at_ms)
  where settled_at_ms is not null and purged_at_ms is null;

create table nevertwice_steps (
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
  started_at_ms integer not null,
  settled_at_ms integer,
  primary key (tenant, run_id, name)
) strict;

create table nevertwice_approvals (
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
  created_at_ms integer not null,
  expires_at_ms integer not null,
  decided_at_ms integer,
  primary key (tenant, run_id, name)
) strict;

create index nevertwice_approvals_open on nevertwice_approvals (tenant, created_at_ms)
  where status = 'OPEN';

create table nevertwice_targets (
  tenant text not null check (tenant <> ''),
  operation text not null check (operation <> ''),
  target text not null check (target <> ''),
  version integer not null,
  fingerprint text not null,
  round integer not null,
  status text not null check (status in ('OPEN', 'ARMED', 'SETTLED', 'REFUSED')),
  armed_version integer,
  quiet_until_ms integer not null default 0,
  token integer not null,
  acquisition_id text not null,
  lease_until_ms integer not null,
  primary key (tenant, operation, target)
) strict;

-- A purged run keeps its row, so that its id is never run again; its steps go.
create trigger nevertwice_runs_purge after update of purged_at_ms on nevertwice_runs begin
  delete from nevertwice_steps where tenant = new.tenant and run_id = new.run_id;
  delete from nevertwice_approvals where tenant = new.tenant and run_id = new.run_id;
end;
