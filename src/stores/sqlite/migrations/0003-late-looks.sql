-- How far each round of late looks at closed operations has come (R22).

create table nevertwice_late_looks (
  tool text not null check (tool <> ''),
  after_ms integer not null,
  settled_at_ms integer not null,
  tenant text not null,
  key text not null,
  lease_until_ms integer not null,
  primary key (tool, after_ms)
) strict;
