--! breaking
-- The ledger: one row per key, and a journal line for every event of it.
-- Times are milliseconds since 1970 by this database's clock. Tables are not a public interface;
-- the two views at the end are.

create table :schema.operations (
  tenant text not null check (tenant <> ''),
  key text not null check (key <> ''),
  key_algorithm text not null,
  operation text not null,
  tool text not null,
  intent text not null,
  fingerprint text not null,
  arguments text,
  status text not null check (status in ('IN_PROGRESS', 'UNKNOWN', 'NEEDS_REVIEW', 'DONE', 'FAILED')),
  token bigint not null,
  acquisition_id text not null,
  lease_until_ms bigint not null,
  generation integer not null default 0,
  attempts integer not null check (attempts >= 0),
  attempts_in_generation integer not null check (attempts_in_generation >= 0),
  first_armed_at_ms bigint,
  last_armed_at_ms bigint,
  quiet_until_ms bigint not null,
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
  retention_ms bigint not null,
  created_at_ms bigint not null,
  settled_at_ms bigint,
  purged_at_ms bigint,
  due_at_ms bigint not null,
  sweeps integer not null default 0,
  journal_seq integer not null,
  event text not null,
  event_at_ms bigint not null,
  event_detail text not null,
  primary key (tenant, key)
);

create index operations_by_creation on :schema.operations (created_at_ms);
create index operations_open on :schema.operations (due_at_ms) where status in ('IN_PROGRESS', 'UNKNOWN');
create index operations_in_review on :schema.operations (tenant, created_at_ms)
  where status = 'NEEDS_REVIEW' or incident is not null;
create index operations_settled on :schema.operations (settled_at_ms)
  where status in ('DONE', 'FAILED') and purged_at_ms is null;
create index operations_look_alike on :schema.operations (tenant, operation, look_alike, created_at_ms)
  where look_alike is not null;

-- One sequence for the whole database: a row that was lost and made anew can't repeat a token.
create sequence :schema.tokens;

create table :schema.journal (
  tenant text not null,
  key text not null,
  seq integer not null,
  at_ms bigint not null,
  event text not null,
  status text not null,
  token bigint not null,
  attempts integer not null,
  detail text not null,
  hash text not null,
  primary key (tenant, key, seq)
);

-- Appends a line that is chained to the line before. Same text as lineHash in ledger/journal.ts.
create function :schema.append_journal(
  row_of :schema.operations, line_seq integer, line_event text, line_attempts integer, line_detail text
) returns void language plpgsql as $$
declare
  previous text;
begin
  select hash into previous from :schema.journal
  where tenant = row_of.tenant and key = row_of.key order by seq desc limit 1;
  insert into :schema.journal (tenant, key, seq, at_ms, event, status, token, attempts, detail, hash)
  values (
    row_of.tenant, row_of.key, line_seq, row_of.event_at_ms, line_event, row_of.status, row_of.token,
    line_attempts, line_detail,
    encode(sha256(convert_to(
      coalesce(previous, row_of.tenant || E'\n' || row_of.key)
        || E'\n' || line_seq || E'\n' || row_of.event_at_ms || E'\n' || line_event
        || E'\n' || row_of.status || E'\n' || row_of.token || E'\n' || line_attempts
        || E'\n' || line_detail,
      'UTF8')), 'hex')
  );
end $$;

-- The journal writes itself: no statement can change a row and forget the line.
create function :schema.journal_operation() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    perform :schema.append_journal(new, 1, 'operation.claimed', 0, new.event_detail);
    if new.attempts = 1 then
      perform :schema.append_journal(new, 2, 'operation.armed', 1, '{"wireKey":"' || new.wire_key || '"}');
    end if;
  else
    perform :schema.append_journal(new, new.journal_seq, new.event, new.attempts, new.event_detail);
  end if;
  return null;
end $$;

create trigger journal_operation after insert or update of journal_seq on :schema.operations
  for each row execute function :schema.journal_operation();

create function :schema.refuse_change() returns trigger language plpgsql as $$
begin
  raise exception 'the journal is append-only';
end $$;

create trigger journal_is_append_only before update or delete on :schema.journal
  for each row execute function :schema.refuse_change();
create trigger journal_is_not_truncated before truncate on :schema.journal
  for each statement execute function :schema.refuse_change();

create view :schema.review_queue as
  select tenant, key, operation, tool, intent, status, review_reason, incident, attempts,
    to_timestamp(last_armed_at_ms / 1000.0) as last_armed_at,
    to_timestamp(quiet_until_ms / 1000.0) as decidable_from, version
  from :schema.operations where status = 'NEEDS_REVIEW' or incident is not null;

create view :schema.audit as
  select tenant, key, seq, to_timestamp(at_ms / 1000.0) as at, event, status, token, attempts, detail, hash
  from :schema.journal;
