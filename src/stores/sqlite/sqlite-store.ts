/**
 * The embedded store: one file, several processes.
 *
 * @module
 */
import { sha256Hex } from "../../base/canonical-json.ts";
import { type Runtime, systemRuntime } from "../../base/runtime.ts";
import type { MigrationReport, StoreInspection } from "../../ledger/store.ts";
import { type AppliedMigration, missingMigrations, versionsOf } from "../shared/migrations.ts";
import { count } from "../shared/rows.ts";
import { SqlStore } from "../shared/sql-store.ts";
import { migrations } from "./sql.generated.ts";
import type { SqliteDatabase } from "./sqlite-database.ts";
import {
  type SqliteExecutorOptions,
  createSqliteExecutor,
  immediately,
  isBusy,
  withBusyRetry,
} from "./sqlite-executor.ts";

/** Options of {@link SqliteStore}. */
export interface SqliteStoreOptions {
  /**
   * True, the default: sets `busy_timeout`, WAL and `synchronous = FULL` on this connection. False
   * leaves the connection as it is; the guard's start-up check then says what is unsafe about it.
   */
  readonly configure?: boolean;
  /**
   * How long one statement blocks this process for a lock, in milliseconds. Default 200: the driver
   * waits in the process's only thread, and a timer that ends a call before its lease must not be late.
   */
  readonly busyTimeoutMs?: number;
  /** How long to try for a lock in all, in milliseconds. Default 15 000. */
  readonly busyRetryMs?: number;
  /** For tests: milliseconds since 1970, in place of the database's clock. One per store (R9). */
  readonly clock?: () => number;
  readonly runtime?: Runtime;
}

/**
 * A store on an opened SQLite database (better-sqlite3 ≥ 12 or node:sqlite, SQLite ≥ 3.42).
 *
 * @example
 * const store = new SqliteStore(new Database("nevertwice.sqlite"));
 * await store.migrate();
 */
export class SqliteStore<
  Database extends SqliteDatabase = SqliteDatabase,
> extends SqlStore<Database> {
  readonly #database: Database;
  readonly #options: SqliteExecutorOptions;

  constructor(database: Database, options: SqliteStoreOptions = {}) {
    const executorOptions: SqliteExecutorOptions = {
      runtime: options.runtime ?? systemRuntime,
      clock: options.clock,
      busyRetryMs: options.busyRetryMs ?? 15_000,
      setUp: setUpOnce(database, options),
    };
    database.function("nevertwice_sha256", { deterministic: true }, (text) => sha256Hex(text));
    tryNow(executorOptions.setUp);
    // A commit blocks this process, so whatever became ready meanwhile shares the next one.
    super(createSqliteExecutor(database, executorOptions), (flush) => setImmediate(flush));
    this.#database = database;
    this.#options = executorOptions;
  }

  async migrate(): Promise<MigrationReport> {
    const work = (): MigrationReport => {
      const applied = this.#apply();
      return { applied, schemaVersion: versionsOf(migrations, this.#applied()).schemaVersion };
    };
    return withBusyRetry(this.#database, () => immediately(this.#database, work), this.#options);
  }

  #apply(): string[] {
    this.#database.exec(
      "create table if not exists nevertwice_migrations " +
        "(version integer primary key, name text not null, breaking integer not null) strict",
    );
    const missing = missingMigrations(migrations, this.#applied());
    for (const { version, name, breaking, text } of missing) {
      this.#all(
        "insert into nevertwice_migrations values (?, ?, ?) returning version",
        version,
        name,
        Number(breaking),
      );
      this.#database.exec(text);
    }
    return missing.map((migration) => migration.name);
  }

  async inspect(): Promise<StoreInspection> {
    return withBusyRetry(this.#database, () => this.#inspect(), this.#options);
  }

  #inspect(): StoreInspection {
    const synchronous = this.#pragma("synchronous");
    const file = String(
      this.#all("pragma database_list").find((row) => row["name"] === "main")?.["file"],
    );
    const settings = {
      synchronous: ["OFF", "NORMAL", "FULL", "EXTRA"][Number(synchronous)] ?? synchronous,
      journal_mode: this.#pragma("journal_mode"),
      busy_timeout: this.#pragma("busy_timeout", "timeout"),
      file: file === "" ? ":memory:" : file,
      version: String(this.#all("select sqlite_version() as version")[0]?.["version"]),
    };
    const unsafe = [
      ...(Number(synchronous) < 2 ? [`synchronous=${settings.synchronous}`] : []),
      ...(file === "" ? ["file=:memory:"] : []),
      ...(file !== "" && ["off", "memory"].includes(settings.journal_mode)
        ? [`journal_mode=${settings.journal_mode}`]
        : []),
    ];
    const warnings =
      Number(settings.busy_timeout) === 0
        ? ["busy_timeout is 0: a second process will often find the file locked"]
        : [];
    return {
      dialect: "sqlite",
      ...versionsOf(migrations, this.#applied()),
      settings,
      unsafe,
      warnings,
    };
  }

  #applied(): AppliedMigration[] {
    const [table] = this.#all(
      "select name from sqlite_master where name = 'nevertwice_migrations'",
    );
    if (table === undefined) return [];
    const rows = this.#all("select version, breaking from nevertwice_migrations order by version");
    return rows.map((row) => ({ version: count(row["version"]), breaking: row["breaking"] === 1 }));
  }

  #pragma(name: string, column = name): string {
    return String(this.#all(`pragma ${name}`)[0]?.[column]);
  }

  #all(sql: string, ...params: unknown[]): Record<string, unknown>[] {
    return this.#database.prepare(sql).all(...params) as Record<string, unknown>[];
  }
}

function setUpOnce(database: SqliteDatabase, options: SqliteStoreOptions): () => void {
  let isSetUp = options.configure === false;
  return () => {
    if (isSetUp) return;
    configure(database, options.busyTimeoutMs ?? 200);
    isSetUp = true;
  };
}

/**
 * Of processes that switch one new file to WAL at the same moment some are told at once that it is locked,
 * whatever the timeout: SQLite waits for no lock while it holds one. Their first statement tries again.
 */
function tryNow(setUp: () => void): void {
  try {
    setUp();
  } catch (error) {
    if (!isBusy(error)) throw error;
  }
}

function configure(database: SqliteDatabase, busyTimeoutMs: number): void {
  // In this order: switching to WAL needs a lock itself, and would fail at once without the timeout.
  database.exec(`pragma busy_timeout = ${Math.trunc(busyTimeoutMs)}`);
  database.exec("pragma journal_mode = wal");
  database.exec("pragma synchronous = full");
}
