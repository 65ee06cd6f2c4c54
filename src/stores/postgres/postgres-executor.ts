/**
 * Runs single statements on PostgreSQL, each on a connection borrowed for it alone: no session state,
 * no prepared statements unless asked for, so that it works behind pgbouncer in transaction mode.
 *
 * @module
 */
import { NeverTwiceError } from "../../base/errors.ts";
import { type Runtime, pause, startTimer } from "../../base/runtime.ts";
import type { SqlExecutor, SqlParams, SqlRow, StatementName } from "../shared/statement.ts";
import { type StoreTrouble, storeError } from "../shared/store-error.ts";
import type {
  PostgresClient,
  PostgresNotice,
  PostgresPool,
  PostgresQuery,
} from "./postgres-client.ts";
import { statements } from "./sql.generated.ts";

/** Options of {@link createPostgresExecutor}. */
export interface PostgresExecutorOptions {
  readonly schema: string;
  readonly runtime: Runtime;
  /** Milliseconds since 1970; only tests set it. */
  readonly clock: (() => number) | undefined;
  readonly statementTimeoutMs: number;
  readonly preparedStatements: boolean;
}

const databaseClock = "(extract(epoch from clock_timestamp()) * 1000)::bigint";
/** Serialisation failure, deadlock, lock not available: nothing was written, trying again is right. */
const transient = new Set(["40001", "40P01", "55P03"]);
const maxTries = 15;

/** Compiles statements on first use. */
export function createPostgresExecutor(
  pool: PostgresPool,
  options: PostgresExecutorOptions,
): SqlExecutor {
  const builders = new Map<StatementName, QueryBuilder>();
  const builderOf = (name: StatementName): QueryBuilder => {
    const builder = builders.get(name) ?? compile(name, options);
    builders.set(name, builder);
    return builder;
  };
  return { run: (name, params) => runWithRetry(pool, builderOf(name)(params), options) };
}

type QueryBuilder = (params: SqlParams) => PostgresQuery;

function compile(name: StatementName, options: PostgresExecutorOptions): QueryBuilder {
  const { clock, schema, preparedStatements } = options;
  const names: string[] = [];
  const text = statements[name].text
    .replaceAll(":schema", `"${schema}"`)
    .replaceAll(/(?<![\w:]):(\w+)/g, (_, param: string) => {
      if (param === "now" && clock === undefined) return databaseClock;
      if (!names.includes(param)) names.push(param);
      const place = `$${names.indexOf(param) + 1}`;
      return param === "now" ? `${place}::bigint` : place;
    });
  return (params) => ({
    text,
    values: names.map((param) =>
      param === "now" ? Math.trunc(clock?.() ?? 0) : (params[param] ?? null),
    ),
    ...(preparedStatements ? { name: `nevertwice_${schema}_${name}` } : {}),
  });
}

async function runWithRetry(
  pool: PostgresPool,
  query: PostgresQuery,
  options: PostgresExecutorOptions,
): Promise<readonly SqlRow[]> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await runOnce(pool, query, options);
    } catch (error) {
      if (!transient.has(sqlState(error)) || tries === maxTries) throw toStoreError(error);
      await pause(options.runtime, Math.min(2 ** tries, 100));
    }
  }
}

async function runOnce(
  pool: PostgresPool,
  query: PostgresQuery,
  options: PostgresExecutorOptions,
): Promise<readonly SqlRow[]> {
  const warnings: string[] = [];
  const rows = await withClient(pool, options, async (client) => {
    const listen = (notice: PostgresNotice): void => {
      if (notice.code === "01000") warnings.push(notice.message ?? "");
    };
    client.on("notice", listen);
    try {
      return (await client.query(query)).rows as SqlRow[];
    } finally {
      client.off("notice", listen);
    }
  });
  if (warnings.length > 0) throw notReplicated(warnings);
  return rows;
}

/**
 * Borrows a connection. The time limit is ours, and covers the wait for a connection too: the server's
 * `statement_timeout` doesn't cover the wait for a standby. A connection that exceeds it is closed, and
 * its outcome is unknown.
 */
export async function withClient<T>(
  pool: PostgresPool,
  options: Pick<PostgresExecutorOptions, "runtime" | "statementTimeoutMs">,
  work: (client: PostgresClient) => Promise<T>,
): Promise<T> {
  const timer = startTimer(options.runtime, options.statementTimeoutMs);
  const limit = timer.rung.then((): never => {
    throw new Error(`no answer within ${options.statementTimeoutMs} ms`);
  });
  try {
    const client = await connectWithin(pool, limit);
    return await useClient(client, () => Promise.race([work(client), limit]));
  } finally {
    timer.stop();
  }
}

async function connectWithin(pool: PostgresPool, limit: Promise<never>): Promise<PostgresClient> {
  const connecting = pool.connect();
  try {
    return await Promise.race([connecting, limit]);
  } catch (error) {
    // Should the connection come after all, somebody else is to have it.
    connecting.then((client) => client.release()).catch(() => {});
    throw error;
  }
}

async function useClient<T>(client: PostgresClient, work: () => Promise<T>): Promise<T> {
  // A connection that breaks says so twice; without a listener the second time ends the process.
  const ignore = (): void => {};
  client.on("error", ignore);
  let broken = true;
  try {
    const result = await work();
    broken = false;
    return result;
  } catch (error) {
    // An error that carries an SQLSTATE came from a server that is well; any other spoils the connection.
    broken = sqlState(error) === "" || sqlState(error).startsWith("57P");
    throw error;
  } finally {
    client.off("error", ignore);
    client.release(broken);
  }
}

function notReplicated(warnings: readonly string[]): NeverTwiceError {
  return new NeverTwiceError(
    "STORE_UNSAFE",
    `PostgreSQL acknowledged a write with the warning "${warnings.join("; ")}": a failover could lose it, so nothing is sent on its strength.`,
    { details: { warnings } },
  );
}

/** An error of a driver, told in our words. */
export function toStoreError(error: unknown): Error {
  if (error instanceof NeverTwiceError) return error;
  return storeError(troubleOf(sqlState(error)), error);
}

function troubleOf(state: string): StoreTrouble {
  if (["42P01", "42703", "3F000", "42883"].includes(state)) return "no-schema";
  return /^2[23]/.test(state) || state.startsWith("54") ? "rejected" : "unavailable";
}

function sqlState(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === "string" && /^[0-9A-Z]{5}$/.test(code) && code !== "EPIPE" ? code : "";
}
