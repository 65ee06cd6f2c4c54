--! breaking
-- The ledger: one row per key, and a journal line for every event of it.
-- Times are milliseconds since 1970 by this machine's clock, read by SQLite. Tables are not a public
-- interface; the two views at the end are.

create table nevertwice_operations (
  tenant text not null check (tenant <> ''),
  key text not null check (key <> ''),
  key_algorithm text not null,
  operation text not null,
  tool text not null,
  intent text not null,
  fingerprint text not null,
  arguments text,
  status text not null check (status in ('IN_PROGRESS', 'UNKNOWN', 'NEEDS_REVIEW', 'DONE', 'FAILED')),
  token integer not null,
  acquisition_id text not null,
  lease_until_ms integer not null,
  generation integer not null default 0,
  attempts integer not null check (attempts >= 0),
  attempts_in_generation integer not null check (attempts_in_generation >= 0),
  first_armed_at_ms integer,
  last_armed_at_ms integer,
  quiet_until_ms integer not null,
  wire_key text,
  result_kind text check (result_kind in ('json', 'undefined', 'omitted')),
  result text,
  error text,
  provider_id text,
  review_reason text,
  incident text,
  supersedes text,
  superseded_by text,
  look_alike text,
  version integer not null default 1,
  retention_ms integer not null,
  created_at_ms integer not null,
  settled_at_ms integer,
  purged_at_ms integer,
  due_at_ms integer not null,
  sweeps integer not null default 0,
  journal_seq integer not null,
  event text not null,
  event_at_ms integer not null,
  event_detail text not null,
  primary key (tenant, key)
) strict;

create index nevertwice_operations_by_creation on nevertwice_operations (created_at_ms);
create index nevertwice_operations_open on nevertwice_operations (due_at_ms)
  where status in ('IN_PROGRESS', 'UNKNOWN');
create index nevertwice_operations_in_review on nevertwice_operations (tenant, created_at_ms)
  where status = 'NEEDS_REVIEW' or incident is not null;
create index nevertwice_operations_settled on nevertwice_operations (settled_at_ms)
  where status in ('DONE', 'FAILED') and purged_at_ms is null;
create index nevertwice_operations_look_alike
  on nevertwice_operations (tenant, operation, look_alike, created_at_ms)
  where look_alike is not null;

-- `id` is also where fencing tokens come from: every acquisition writes a line, and AUTOINCREMENT
-- never gives a number twice, so the next number is one sequence for the whole database.
create table nevertwice_journal (
  id integer primary key autoincrement,
  tenant text not null,
  key text not null,
  seq integer not null,
  at_ms integer not null,
  event text not null,
  status text not null,
  token integer not null,
  attempts integer not null,
  detail text not null,
  hash text not null,
  unique (tenant, key, seq)
) strict;

-- The journal writes itself: no statement can change a row and forget the line. The text that is
-- hashed is that of lineHash in ledger/journal.ts; nevertwice_sha256 is registered by the store.
create trigger nevertwice_journal_claim after insert on nevertwice_operations begin
  insert into nevertwice_journal (tenant, key, seq, at_ms, event, status, token, attempts, detail, hash)
  values (new.tenant, new.key, 1, new.event_at_ms, 'operation.claimed', new.status, new.token, 0,
    new.event_detail,
    nevertwice_sha256(new.tenant || char(10) || new.key || char(10) || 1 || char(10) || new.event_at_ms
      || char(10) || 'operation.claimed' || char(10) || new.status || char(10) || new.token
      || char(10) || 0 || char(10) || new.event_detail));
  insert into nevertwice_journal (tenant, key, seq, at_ms, event, status, token, attempts, detail, hash)
  select new.tenant, new.key, 2, new.event_at_ms, 'operation.armed', new.status, new.token, 1,
    '{"wireKey":"' || new.wire_key || '"}',
    nevertwice_sha256(previous.hash || char(10) || 2 || char(10) || new.event_at_ms || char(10)
      || 'operation.armed' || char(10) || new.status || char(10) || new.token || char(10) || 1
      || char(10) || '{"wireKey":"' || new.wire_key || '"}')
  from nevertwice_journal as previous
  where new.attempts = 1 and previous.tenant = new.tenant and previous.key = new.key and previous.seq = 1;
end;

create trigger nevertwice_journal_change after update of journal_seq on nevertwice_operations begin
  insert into nevertwice_journal (tenant, key, seq, at_ms, event, status, token, attempts, detail, hash)
  values (new.tenant, new.key, new.journal_seq, new.event_at_ms, new.event, new.status, new.token,
    new.attempts, new.event_detail,
    nevertwice_sha256(
      coalesce(
        (select hash from nevertwice_journal where tenant = new.tenant and key = new.key
          order by seq desc limit 1),
        new.tenant || char(10) || new.key)
      || char(10) || new.journal_seq || char(10) || new.event_at_ms || char(10) || new.event
      || char(10) || new.status || char(10) || new.token || char(10) || new.attempts
      || char(10) || new.event_detail));
end;

-- INSERT OR REPLACE would delete a line without a DELETE trigger's leave.
create trigger nevertwice_journal_no_replace before insert on nevertwice_journal
when exists (
  select 1 from nevertwice_journal where tenant = new.tenant and key = new.key and seq = new.seq
) or exists (select 1 from nevertwice_journal where id = new.id)
begin
  select raise(abort, 'the journal is append-only');
end;

create trigger nevertwice_journal_no_update before update on nevertwice_journal begin
  select raise(abort, 'the journal is append-only');
end;

create trigger nevertwice_journal_no_delete before delete on nevertwice_journal begin
  select raise(abort, 'the journal is append-only');
end;

create view nevertwice_review_queue as
  select tenant, key, operation, tool, intent, status, review_reason, incident, attempts,
    last_armed_at_ms, quiet_until_ms as decidable_from_ms, version
  from nevertwice_operations where status = 'NEEDS_REVIEW' or incident is not null;

create view nevertwice_audit as
  select tenant, key, seq, at_ms, event, status, token, attempts, detail, hash from nevertwice_journal;
