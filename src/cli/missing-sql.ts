/**
 * The SQL of missing migrations as one script, for those who don't let a program change a schema.
 * It leaves the database as `migrate` would.
 *
 * @module
 */
import type { StoreInspection } from "../ledger/store.ts";
import { migrations as postgresMigrations } from "../stores/postgres/sql.generated.ts";
import { migrations as sqliteMigrations } from "../stores/sqlite/sql.generated.ts";

interface Wanted extends Pick<StoreInspection, "schemaVersion"> {
  readonly dialect: "sqlite" | "postgres";
  readonly schema: string;
}

/** A script in one transaction; only a comment when nothing is missing. */
export function missingSql({ dialect, schema, schemaVersion }: Wanted): string {
  const known = dialect === "sqlite" ? sqliteMigrations : postgresMigrations;
  const missing = known.filter(({ version }) => version > schemaVersion);
  if (missing.length === 0) return `-- Nothing is missing: the schema is at ${schemaVersion}.`;
  const prefix = dialect === "sqlite" ? "nevertwice_" : `"${schema}".`;
  const breaking = dialect === "sqlite" ? "integer" : "boolean";
  const truth = (value: boolean): string =>
    dialect === "sqlite" ? String(Number(value)) : String(value);
  const steps = missing.map((migration) =>
    [
      `-- ${migration.name}`,
      `insert into ${prefix}migrations values (${migration.version}, '${migration.name}', ${truth(migration.breaking)});`,
      migration.text.replaceAll(":schema", `"${schema}"`).trimEnd(),
    ].join("\n"),
  );
  return [
    `-- nevertwice: from schema ${schemaVersion} to ${missing.at(-1)?.version}.`,
    dialect === "sqlite" ? "begin immediate;" : `begin;\ncreate schema if not exists "${schema}";`,
    `create table if not exists ${prefix}migrations (version integer primary key, name text not null, breaking ${breaking} not null)${dialect === "sqlite" ? " strict" : ""};`,
    ...steps,
    "commit;",
  ].join("\n\n");
}
