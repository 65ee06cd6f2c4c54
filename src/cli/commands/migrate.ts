/**
 * `nevertwice migrate`: brings the schema up to date, or prints the SQL that would.
 *
 * @module
 */
import { existsSync } from "node:fs";
import type { Command } from "commander";
import { checkSchema } from "../../guard/start-up.ts";
import type { StoreInspection } from "../../ledger/store.ts";
import { isNeverTwiceError } from "../../base/errors.ts";
import { type GlobalOptions, helpEnd, outputFor } from "../command.ts";
import { missingSql } from "../missing-sql.ts";
import { type OpenStore, labelOf, parseLocation, withStore } from "../open-store.ts";
import { counted } from "../text.ts";

interface MigrateOptions extends GlobalOptions {
  readonly print?: boolean;
}

/** Adds the command. */
export function addMigrate(program: Command): void {
  program
    .command("migrate")
    .description("bring the schema up to date; a SQLite file is created if there is none")
    .option("--print", "print the SQL of the missing migrations instead of running it")
    .addHelpText(
      "after",
      helpEnd([
        "migrate --store ./nevertwice.sqlite",
        "migrate --store postgres://app@db/shop --schema nevertwice",
        "migrate --store postgres://app@db/shop --print > migration.sql",
      ]),
    )
    .action((_options: unknown, command: Command) => migrate(command));
}

async function migrate(command: Command): Promise<void> {
  const options = command.optsWithGlobals<MigrateOptions>();
  const output = outputFor(options);
  if (options.print === true) {
    const sql = await sqlToPrint(options);
    if (output.json) output.document({ sql });
    else output.line(sql);
    return;
  }
  await withStore(options, "new", async (opened) => {
    refuseNewer(await opened.store.inspect());
    const report = await opened.store.migrate();
    if (output.json) {
      output.document({ store: labelOf(opened.location), ...schemaOf(opened), ...report });
      return;
    }
    const { applied, schemaVersion } = report;
    output.text(
      applied.length === 0
        ? `Nothing to do: ${labelOf(opened.location)} has schema ${schemaVersion} already.`
        : `Ran ${counted(applied.length, "migration")} (${applied.join(", ")}) on ${labelOf(opened.location)}; it has schema ${schemaVersion} now.`,
    );
  });
}

async function sqlToPrint(options: { store?: string; schema?: string }): Promise<string> {
  const location = parseLocation(options.store);
  if (location.dialect === "sqlite" && !existsSync(location.file)) {
    return missingSql({ dialect: "sqlite", schema: "", schemaVersion: 0 });
  }
  return withStore(options, "existing", async ({ store, schema }) => {
    const inspection = await store.inspect();
    refuseNewer(inspection);
    return missingSql({ ...inspection, dialect: location.dialect, schema });
  });
}

/** A migration of ours on a schema that a newer program made would be a step back. */
function refuseNewer(inspection: StoreInspection): void {
  try {
    checkSchema(inspection);
  } catch (error) {
    if (!isNeverTwiceError(error, "SCHEMA_OUTDATED")) throw error;
  }
}

function schemaOf(opened: OpenStore): { schema?: string } {
  return opened.schema === "" ? {} : { schema: opened.schema };
}
