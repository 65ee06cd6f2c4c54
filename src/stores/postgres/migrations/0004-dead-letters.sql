-- Dead letters: messages that are no events, and who gave an event up and why.

alter table :schema.inbox add column raw text;
alter table :schema.inbox add column discarded_by text;
alter table :schema.inbox add column discard_reason text;
alter table :schema.outbox add column discarded_by text;
alter table :schema.outbox add column discard_reason text;
