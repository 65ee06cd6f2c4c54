/**
 * A store for one demo or check: a SQLite file in a temporary folder, or a schema of its own in the given
 * PostgreSQL. Nothing stays.
 *
 * @module
 */
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { checkStore } from "../../guard/start-up.ts";
import type { Store } from "../../ledger/store.ts";
import { CliError } from "../exit-codes.ts";
import { openStore } from "../open-store.ts";
import type { Backstage } from "./backstage.ts";

/** The store, and what a worker needs to open it as well. */
export interface DemoStore {
  readonly store: Store;
  readonly location: string;
  readonly schema: string | null;
  /** For people. */
  readonly label: string;
}

/** Makes the store; backstage clears it away. */
export async function makeDemoStore(
  given: string,
  backstage: Backstage,
  purpose: "demo" | "check" = "demo",
): Promise<DemoStore> {
  if (given !== "sqlite" && !/^postgres(ql)?:\/\//.test(given)) {
    throw new CliError(
      "USAGE",
      `The ${purpose} makes a store of its own: give --store sqlite or a postgres:// URL, not ${given}.`,
    );
  }
  const made = given === "sqlite" ? makeFile(backstage, purpose) : makeSchema(given, purpose);
  const { location, schema } = made;
  const options = { store: location, ...(schema === null ? {} : { schema }) };
  const opened = await openStore(options, "new");
  backstage.add(() => opened.close());
  if (schema !== null) backstage.add(() => dropSchema(location, schema));
  await opened.store.migrate();
  checkStore(await opened.store.inspect(), []);
  return { store: opened.store, ...made };
}

type Made = Omit<DemoStore, "store">;

function makeFile(backstage: Backstage, purpose: string): Made {
  const folder = mkdtempSync(join(tmpdir(), `nevertwice-${purpose}-`));
  backstage.add(async () => rmSync(folder, { recursive: true, force: true }));
  return {
    location: join(folder, `${purpose}.sqlite`),
    schema: null,
    label: "SQLite, in a temporary file",
  };
}

function makeSchema(location: string, purpose: string): Made {
  const schema = `nevertwice_${purpose}_${randomBytes(6).toString("hex")}`;
  return { location, schema, label: `PostgreSQL, in the schema ${schema}, which is dropped again` };
}

async function dropSchema(url: string, schema: string): Promise<void> {
  const { default: pg } = await import("pg");
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(`drop schema if exists "${schema}" cascade`);
  } finally {
    await client.end();
  }
}
