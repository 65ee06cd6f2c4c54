/**
 * Runs single statements on SQLite, each in a transaction of its own that takes the write lock at
 * once, so that no statement has to upgrade a read lock that has gone stale.
 *
 * @module
 */
import { backOffMs, spread } from "../../base/back-off.ts";
import { type Runtime, pause } from "../../base/runtime.ts";
import { refuseInside, runInside } from "../shared/open-transaction.ts";
import type {
  SqlExecutor,
  SqlParams,
  SqlRow,
  SqlStatements,
  StatementName,
} from "../shared/statement.ts";
import { storeError } from "../shared/store-error.ts";
import { statements } from "./sql.generated.ts";
import type { SqliteDatabase } from "./sqlite-database.ts";
import { gateOf } from "./transaction-gate.ts";

const readOnly = new Set<StatementName>([
  "approval-list",
  "approval-read",
  "count-purgeable",
  "find-due",
  "find-look-alikes",
  "inbox-due",
  "inbox-list",
  "inbox-read",
  "list",
  "outbox-list",
  "outbox-next",
  "read",
  "read-journal",
  "run-list",
  "run-next",
  "run-read",
  "step-list",
  "target-read",
]);

/** Options of {@link createSqliteExecutor}. */
export interface SqliteExecutorOptions {
  readonly runtime: Runtime;
  /** Milliseconds since 1970; only tests set it. */
  readonly clock: (() => number) | undefined;
  /** How long to try for a lock in all before the store counts as unavailable. */
  readonly busyRetryMs: number;
  /** Sets the connection up, once; throws while another process holds the file. */
  readonly setUp: () => void;
}

type Runner = (params: SqlParams) => readonly SqlRow[];

/** Prepares statements on first use. */
export function createSqliteExecutor<Database extends SqliteDatabase>(
  database: Database,
  options: SqliteExecutorOptions,
): SqlExecutor<Database> {
  const runners = new Map<StatementName, Runner>();
  const runnerOf = (name: StatementName): Runner => {
    const runner = runners.get(name) ?? prepareRunner(database, name, options.clock);
    runners.set(name, runner);
    return runner;
  };
  const runAlone = (name: StatementName, params: SqlParams): readonly SqlRow[] =>
    readOnly.has(name)
      ? runnerOf(name)(params)
      : immediately(database, () => runnerOf(name)(params));
  const openStatements: SqlStatements = {
    run: async (name, params) => {
      try {
        return runnerOf(name)(params);
      } catch (error) {
        throw toStoreError(error);
      }
    },
  };
  return {
    checkOutside: () => refuseInside(database),
    run: async (name, params) => {
      refuseInside(database);
      return withBusyRetry(database, () => runAlone(name, params), options);
    },
    transaction: async (work) => {
      refuseInside(database);
      await withBusyRetry(database, () => begin(database), options);
      return endingTransaction(database, () => work(openStatements, database));
    },
  };
}

function prepareRunner(
  database: SqliteDatabase,
  name: StatementName,
  clock: (() => number) | undefined,
): Runner {
  const { params: names, text } = statements[name];
  const now = clock === undefined ? "cast(unixepoch('subsec') * 1000 as integer)" : ":now_ms";
  const prepared = database.prepare(text.replaceAll(/(?<![\w:]):now\b/g, now));
  const bind = (params: SqlParams): Record<string, unknown> => {
    const bound: Record<string, unknown> = {};
    for (const param of names) bound[param] = params[param] ?? null;
    if (clock !== undefined && text.includes(":now")) bound["now_ms"] = Math.trunc(clock());
    return bound;
  };
  return (params) => prepared.all(bind(params)) as SqlRow[];
}

function begin(database: SqliteDatabase): void {
  database.exec("BEGIN IMMEDIATE");
  gateOf(database).hold();
}

/** Commits after the work, or rolls back; either way the connection is free again. */
async function endingTransaction<T>(
  database: SqliteDatabase,
  work: () => Promise<T> | T,
): Promise<T> {
  try {
    const result = await runInside(database, work);
    commit(database);
    return result;
  } catch (error) {
    rollBack(database);
    throw error;
  } finally {
    gateOf(database).release();
  }
}

function commit(database: SqliteDatabase): void {
  try {
    database.exec("COMMIT");
  } catch (error) {
    throw toStoreError(error);
  }
}

/** Runs the work between BEGIN IMMEDIATE and COMMIT. */
export function immediately<T>(database: SqliteDatabase, work: () => T): T {
  database.exec("BEGIN IMMEDIATE");
  try {
    const result = work();
    database.exec("COMMIT");
    return result;
  } catch (error) {
    rollBack(database);
    throw error;
  }
}

function rollBack(database: SqliteDatabase): void {
  try {
    database.exec("ROLLBACK");
  } catch {
    // SQLite has rolled back by itself; the first error is the one that tells why.
  }
}

const lockWaits = { firstMs: 5, lastMs: 200 };

/**
 * The driver waits `busy_timeout` itself; beyond it the whole transaction is tried again (case 38).
 * An open transaction of this process on the same connection is waited for like another process's.
 */
export async function withBusyRetry<T>(
  database: SqliteDatabase,
  work: () => T,
  options: SqliteExecutorOptions,
): Promise<T> {
  const gate = gateOf(database);
  const startedAtMs = options.runtime.monotonicMs();
  for (let tries = 1; ; tries += 1) {
    try {
      if (gate.released !== undefined) throw heldByTransaction;
      options.setUp();
      return work();
    } catch (error) {
      const spentMs = options.runtime.monotonicMs() - startedAtMs;
      if (!isBusy(error) || spentMs > options.busyRetryMs) throw toStoreError(error);
      const waiting = pause(options.runtime, spread(options.runtime, backOffMs(lockWaits, tries)));
      await (gate.released === undefined ? waiting : Promise.race([gate.released, waiting]));
    }
  }
}

const heldByTransaction = Object.assign(
  new Error("a transaction of this process is open on the connection"),
  { code: "SQLITE_BUSY" },
);

/** True when another process holds the file, or a transaction of this one the connection. */
export function isBusy(error: unknown): boolean {
  const { code, errcode } = error as { code?: unknown; errcode?: unknown };
  // better-sqlite3 names the code; node:sqlite numbers it, extended codes in the upper bits.
  return (
    String(code).startsWith("SQLITE_BUSY") || (typeof errcode === "number" && errcode % 256 === 5)
  );
}

function toStoreError(error: unknown): Error {
  const { message, code } = error as { message?: string; code?: unknown };
  if (/no such (table|column)/.test(String(message))) return storeError("no-schema", error);
  const rejected = /^SQLITE_(CONSTRAINT|MISMATCH|TOOBIG|ERROR)/.test(String(code));
  return storeError(rejected ? "rejected" : "unavailable", error);
}
