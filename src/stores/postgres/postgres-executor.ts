/**
 * Runs single statements on PostgreSQL, each on a connection borrowed for it alone: no session state,
 * no prepared statements unless asked for, so that it works behind pgbouncer in transaction mode.
 *
 * @module
 */
import { backOffMs, spread } from "../../base/back-off.ts";
import { NeverTwiceError } from "../../base/errors.ts";
import { type Runtime, pause, startTimer } from "../../base/runtime.ts";
import { refuseInside, runInside } from "../shared/open-transaction.ts";
import type {
  SqlExecutor,
  SqlParams,
  SqlRow,
  SqlStatements,
  StatementName,
} from "../shared/statement.ts";
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
const conflictWaits = { firstMs: 2, lastMs: 100 };

/** Compiles statements on first use. */
export function createPostgresExecutor<Client extends PostgresClient>(
  pool: PostgresPool<Client>,
  options: PostgresExecutorOptions,
): SqlExecutor<Client> {
  const builders = new Map<StatementName, QueryBuilder>();
  const builderOf = (name: StatementName): QueryBuilder => {
    const builder = builders.get(name) ?? compile(name, options);
    builders.set(name, builder);
    return builder;
  };
  const statementsOn = (client: Client): SqlStatements => ({
    run: async (name, params) => {
      try {
        return (await client.query(builderOf(name)(params))).rows as SqlRow[];
      } catch (error) {
        // 25P02: an earlier statement of the work went wrong, and the work did not mind.
        throw sqlState(error) === "25P02" ? swallowedError() : toStoreError(error);
      }
    },
  });
  return {
    checkOutside: () => refuseInside(pool),
    run: async (name, params) => {
      refuseInside(pool);
      return withRetry(options, toStoreError, () =>
        runOnce(pool, builderOf(name)(params), options),
      );
    },
    transaction: async (work) => {
      refuseInside(pool);
      return withRetry(options, toTransactionError, () =>
        inTransaction(pool, options, (client) =>
          runInside(pool, () => work(statementsOn(client), client)),
        ),
      );
    },
  };
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

/** A deadlock or a conflict wrote nothing, so the same is tried again. */
async function withRetry<T>(
  options: PostgresExecutorOptions,
  toError: (error: unknown) => unknown,
  work: () => Promise<T>,
): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await work();
    } catch (error) {
      if (!isTransient(error) || tries === maxTries) throw toError(error);
      await pause(options.runtime, spread(options.runtime, backOffMs(conflictWaits, tries)));
    }
  }
}

/** The state may be wrapped: our errors carry the driver's, and a user's may too. */
function isTransient(error: unknown): boolean {
  const cause = (error as { cause?: unknown } | null | undefined)?.cause;
  return transient.has(sqlState(error)) || (cause !== undefined && isTransient(cause));
}

/** What the work itself throws is the user's; what the connection throws is told in our words. */
function toTransactionError(error: unknown): unknown {
  return error instanceof WorkError ? error.cause : toStoreError(error);
}

class WorkError extends Error {
  /** True: the server answered the rollback, so the connection is well. */
  rolledBack = false;
}

async function inTransaction<Client extends PostgresClient, T>(
  pool: PostgresPool<Client>,
  options: PostgresExecutorOptions,
  work: (client: Client) => Promise<T>,
): Promise<T> {
  const warnings: string[] = [];
  const result = await withClient(pool, options, async (client) => {
    // Whatever the role's default, the statements are written for it.
    await client.query({ text: "begin isolation level read committed", values: [] });
    const done = await rollingBack(client, work);
    const { command } = await listening(client, warnings, () =>
      client.query({ text: "commit", values: [] }),
    );
    // PostgreSQL answers ROLLBACK, and no error, when a statement's error was swallowed in there.
    if (command === "ROLLBACK") throw swallowedError();
    return done;
  });
  if (warnings.length > 0) throw notReplicated(warnings);
  return result;
}

async function rollingBack<Client extends PostgresClient, T>(
  client: Client,
  work: (client: Client) => Promise<T>,
): Promise<T> {
  try {
    return await work(client);
  } catch (error) {
    const thrown = new WorkError("the work in a transaction threw", { cause: error });
    await client.query({ text: "rollback", values: [] }).then(
      () => (thrown.rolledBack = true),
      // Without an answer the connection is closed, and the server rolls back by itself.
      () => false,
    );
    throw thrown;
  }
}

function swallowedError(): NeverTwiceError {
  return new NeverTwiceError(
    "TRANSACTION_ABORTED",
    "A statement in the transaction went wrong and its error was swallowed, so PostgreSQL rolled everything back: nothing of it is recorded. The same call is safe once the statement is mended.",
  );
}

async function runOnce(
  pool: PostgresPool,
  query: PostgresQuery,
  options: PostgresExecutorOptions,
): Promise<readonly SqlRow[]> {
  const warnings: string[] = [];
  const rows = await withClient(
    pool,
    options,
    async (client) =>
      (await listening(client, warnings, () => client.query(query))).rows as SqlRow[],
  );
  if (warnings.length > 0) throw notReplicated(warnings);
  return rows;
}

/** Collects the server's warnings while something runs. */
async function listening<T>(
  client: PostgresClient,
  warnings: string[],
  work: () => Promise<T>,
): Promise<T> {
  const listen = (notice: PostgresNotice): void => {
    if (notice.code === "01000") warnings.push(notice.message ?? "");
  };
  client.on("notice", listen);
  try {
    return await work();
  } finally {
    client.off("notice", listen);
  }
}

/**
 * Borrows a connection. The time limit is ours, and covers the wait for a connection too: the server's
 * `statement_timeout` doesn't cover the wait for a standby. A connection that exceeds it is closed, and
 * its outcome is unknown.
 */
export async function withClient<Client extends PostgresClient, T>(
  pool: PostgresPool<Client>,
  options: Pick<PostgresExecutorOptions, "runtime" | "statementTimeoutMs">,
  work: (client: Client) => Promise<T>,
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

async function connectWithin<Client extends PostgresClient>(
  pool: PostgresPool<Client>,
  limit: Promise<never>,
): Promise<Client> {
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
    // An error that carries an SQLSTATE came from a server that is well, and so did the answer to a
    // rollback; any other error spoils the connection.
    const state = sqlState(error);
    broken =
      error instanceof WorkError ? !error.rolledBack : state === "" || state.startsWith("57P");
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
