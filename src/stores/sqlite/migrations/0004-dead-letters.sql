-- Dead letters: messages that are no events, and who gave an event up and why.

alter table nevertwice_inbox add column raw text;
alter table nevertwice_inbox add column discarded_by text;
alter table nevertwice_inbox add column discard_reason text;
alter table nevertwice_outbox add column discarded_by text;
alter table nevertwice_outbox add column discard_reason text;
