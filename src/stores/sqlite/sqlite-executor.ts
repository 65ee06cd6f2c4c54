/**
 * Runs single statements on SQLite, each in a transaction of its own that takes the write lock at
 * once, so that no statement has to upgrade a read lock that has gone stale.
 *
 * @module
 */
import { type Runtime, pause } from "../../base/runtime.ts";
import type { SqlExecutor, SqlParams, SqlRow, StatementName } from "../shared/statement.ts";
import { storeError } from "../shared/store-error.ts";
import { statements } from "./sql.generated.ts";
import type { SqliteDatabase } from "./sqlite-database.ts";

const readOnly = new Set<StatementName>([
  "count-purgeable",
  "find-due",
  "find-look-alikes",
  "list",
  "read",
  "read-journal",
]);

/** Options of {@link createSqliteExecutor}. */
export interface SqliteExecutorOptions {
  readonly runtime: Runtime;
  /** Milliseconds since 1970; only tests set it. */
  readonly clock: (() => number) | undefined;
  /** How long to try for a lock in all before the store counts as unavailable. */
  readonly busyRetryMs: number;
}

type Runner = (params: SqlParams) => readonly SqlRow[];

/** Prepares statements on first use. */
export function createSqliteExecutor(
  database: SqliteDatabase,
  options: SqliteExecutorOptions,
): SqlExecutor {
  const runners = new Map<StatementName, Runner>();
  const runnerOf = (name: StatementName): Runner => {
    const runner = runners.get(name) ?? prepareRunner(database, name, options.clock);
    runners.set(name, runner);
    return runner;
  };
  return { run: (name, params) => withBusyRetry(() => runnerOf(name)(params), options) };
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
  const run: Runner = (params) => prepared.all(bind(params)) as SqlRow[];
  return readOnly.has(name) ? run : (params) => immediately(database, () => run(params));
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

/** The driver waits `busy_timeout` itself; beyond it the whole transaction is tried again (case 38). */
export async function withBusyRetry<T>(work: () => T, options: SqliteExecutorOptions): Promise<T> {
  const startedAtMs = options.runtime.monotonicMs();
  for (let waitMs = 5; ; waitMs = Math.min(waitMs * 2, 200)) {
    try {
      return work();
    } catch (error) {
      const spentMs = options.runtime.monotonicMs() - startedAtMs;
      if (!isBusy(error) || spentMs > options.busyRetryMs) throw toStoreError(error);
      await pause(options.runtime, waitMs);
    }
  }
}

function isBusy(error: unknown): boolean {
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
