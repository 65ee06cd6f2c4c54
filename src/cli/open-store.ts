/**
 * Opens the store that `--store` names. The drivers are optional: each is loaded only here, when a
 * location needs it.
 *
 * @module
 */
import { existsSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type { Pool } from "pg";
import { NeverTwiceError } from "../base/errors.ts";
import { checkSchema } from "../guard/start-up.ts";
import type { EffectStore } from "../ledger/transaction.ts";
import { PostgresStore } from "../stores/postgres/index.ts";
import { SqliteStore } from "../stores/sqlite/index.ts";
import { CliError } from "./exit-codes.ts";

/** Where a store is. */
export type Location =
  | { readonly dialect: "sqlite"; readonly file: string }
  | { readonly dialect: "postgres"; readonly url: string };

/** What a command wants of the store. */
export type Need =
  /** The schema must fit this program. */
  | "ready"
  /** The database must exist. */
  | "existing"
  /** A SQLite file may be created. */
  | "new";

/** The options that name a store. */
export interface StoreOptions {
  readonly store?: string;
  readonly schema?: string;
  /** For checks, in place of the database's clock. */
  readonly clock?: () => number;
}

/** An opened store; to be closed. */
export interface OpenStore {
  readonly store: EffectStore;
  readonly location: Location;
  readonly schema: string;
  close(): Promise<void>;
}

/**
 * Reads a location.
 *
 * @throws {CliError} for what is neither a file nor a PostgreSQL URL.
 */
export function parseLocation(text: string | undefined): Location {
  if (text === undefined || text === "") {
    throw new CliError(
      "USAGE",
      "No store is named: give --store with a SQLite file or a postgres:// URL, or set NEVERTWICE_STORE.",
    );
  }
  if (/^postgres(ql)?:\/\//.test(text)) return { dialect: "postgres", url: text };
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(text) || text === ":memory:") {
    throw new CliError("USAGE", `--store must be a SQLite file or a postgres:// URL, not ${text}.`);
  }
  return { dialect: "sqlite", file: resolve(text) };
}

/** The location as it may be printed: without a password. */
export function labelOf(location: Location): string {
  if (location.dialect === "sqlite") return location.file;
  try {
    const { protocol, username, password, host, pathname } = new URL(location.url);
    const user = username === "" ? "" : `${username}${password === "" ? "" : ":***"}@`;
    return `${protocol}//${user}${host}${pathname}`;
  } catch {
    return "the PostgreSQL server";
  }
}

/** Opens, works, closes. */
export async function withStore<T>(
  options: StoreOptions,
  need: Need,
  work: (opened: OpenStore) => Promise<T>,
): Promise<T> {
  const opened = await openStore(options, need);
  try {
    return await work(opened);
  } finally {
    await opened.close();
  }
}

/**
 * Opens a store.
 *
 * @throws {NeverTwiceError} DRIVER_MISSING, STORE_UNAVAILABLE, SCHEMA_OUTDATED, SCHEMA_TOO_NEW.
 */
export async function openStore(options: StoreOptions, need: Need): Promise<OpenStore> {
  const location = parseLocation(options.store);
  const opened =
    location.dialect === "sqlite"
      ? await openSqlite(location, options, need)
      : await openPostgres(location, options);
  try {
    if (need === "ready") checkSchema(await opened.store.inspect());
    return opened;
  } catch (error) {
    await opened.close();
    throw error;
  }
}

async function openSqlite(
  location: Extract<Location, { dialect: "sqlite" }>,
  options: StoreOptions,
  need: Need,
): Promise<OpenStore> {
  const { file } = location;
  if (options.schema !== undefined) {
    throw new CliError("USAGE", `--schema is for PostgreSQL; ${file} is a SQLite file.`);
  }
  checkFile(file, need);
  const { default: Database } = await loadDriver(() => import("better-sqlite3"), sqliteDriver);
  let database: InstanceType<typeof Database>;
  try {
    database = new Database(file, { fileMustExist: need !== "new", timeout: 1000 });
  } catch (error) {
    throw isBindingError(error) ? bindingBroken(error) : unreachable(file, error);
  }
  try {
    // The first read is where a file that is no database shows.
    database.pragma("schema_version");
    // Only `migrate` may switch the file to WAL; every write of ours is on disk all the same.
    if (need !== "new") database.pragma("synchronous = full");
    const store = new SqliteStore(database, { configure: need === "new", ...clockOf(options) });
    return { store, location, schema: "", close: async () => void database.close() };
  } catch (error) {
    database.close();
    throw unreachable(file, error);
  }
}

function checkFile(file: string, need: Need): void {
  if (existsSync(file)) {
    if (statSync(file).isFile()) return;
    throw new NeverTwiceError("STORE_UNAVAILABLE", `${file} is not a file.`);
  }
  if (need !== "new") {
    throw new NeverTwiceError(
      "STORE_UNAVAILABLE",
      `There is no file ${file}. Check --store, or make a new database with \`nevertwice migrate\`.`,
    );
  }
  if (!existsSync(dirname(file))) {
    throw new NeverTwiceError("STORE_UNAVAILABLE", `There is no folder ${dirname(file)}.`);
  }
}

async function openPostgres(
  location: Extract<Location, { dialect: "postgres" }>,
  options: StoreOptions,
): Promise<OpenStore> {
  const { default: pg } = await loadDriver(() => import("pg"), postgresDriver);
  const schema = options.schema ?? "nevertwice";
  let pool: Pool;
  try {
    pool = new pg.Pool({
      connectionString: location.url,
      max: 4,
      connectionTimeoutMillis: 10_000,
      application_name: "nevertwice",
    });
  } catch (error) {
    throw unreachable(labelOf(location), error);
  }
  // A connection that breaks while idle would end the process; the next statement tells of it.
  pool.on("error", () => {});
  try {
    const store = new PostgresStore(pool, { schema, ...clockOf(options) });
    (await pool.connect()).release();
    return { store, location, schema, close: () => pool.end() };
  } catch (error) {
    await pool.end();
    throw error instanceof NeverTwiceError ? error : unreachable(labelOf(location), error);
  }
}

function clockOf({ clock }: StoreOptions): { clock?: () => number } {
  return clock === undefined ? {} : { clock };
}

const sqliteDriver = { name: "better-sqlite3", install: "npm install better-sqlite3@12" };
const postgresDriver = { name: "pg", install: "npm install pg" };

async function loadDriver<Driver>(
  load: () => Promise<Driver>,
  driver: { name: string; install: string },
): Promise<Driver> {
  try {
    return await load();
  } catch (error) {
    const missing = (error as { code?: unknown }).code === "ERR_MODULE_NOT_FOUND";
    const trouble = missing ? "is not installed" : `can't be loaded (${reasonOf(error)})`;
    throw new NeverTwiceError(
      "DRIVER_MISSING",
      `The driver ${driver.name} ${trouble}. Install it beside nevertwice: ${driver.install}`,
      { cause: error, details: { driver: driver.name, install: driver.install } },
    );
  }
}

/** The package is there, but npm did not run its install script, or Node was changed since. */
function isBindingError(error: unknown): boolean {
  const { code, message } = error as { code?: unknown; message?: unknown };
  return code === "ERR_DLOPEN_FAILED" || String(message).includes("bindings file");
}

function bindingBroken(error: unknown): NeverTwiceError {
  const install = "npm rebuild better-sqlite3";
  return new NeverTwiceError(
    "DRIVER_MISSING",
    `The driver better-sqlite3 is installed, but its native part was not built for this Node. Build it: ${install}`,
    { cause: error, details: { driver: "better-sqlite3", install } },
  );
}

function unreachable(label: string, error: unknown): NeverTwiceError {
  return new NeverTwiceError(
    "STORE_UNAVAILABLE",
    `The store ${label} can't be opened: ${reasonOf(error)}. Check --store and that the database is up.`,
    { cause: error },
  );
}

/** Node reports a refused `localhost` as several errors in one, with an empty message. */
function reasonOf(error: unknown): string {
  if (error instanceof AggregateError) {
    return [...new Set(error.errors.map((each) => reasonOf(each)))].join(", ");
  }
  const text = error instanceof Error ? error.message : String(error);
  return text === "" ? "no reason given" : text.replace(/\.$/, "");
}
