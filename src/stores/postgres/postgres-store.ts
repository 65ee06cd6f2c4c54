/**
 * The production store.
 *
 * @module
 */
import { NeverTwiceError } from "../../base/errors.ts";
import { type Runtime, systemRuntime } from "../../base/runtime.ts";
import type { MigrationReport, StoreInspection } from "../../ledger/store.ts";
import { type AppliedMigration, missingMigrations, versionsOf } from "../shared/migrations.ts";
import { count } from "../shared/rows.ts";
import { SqlStore } from "../shared/sql-store.ts";
import type { SqlRow } from "../shared/statement.ts";
import type { PostgresClient, PostgresPool } from "./postgres-client.ts";
import {
  type PostgresExecutorOptions,
  createPostgresExecutor,
  toStoreError,
  withClient,
} from "./postgres-executor.ts";
import { migrations } from "./sql.generated.ts";
import { standbyWarnings } from "./standbys.ts";

/** Options of {@link PostgresStore}. */
export interface PostgresStoreOptions {
  /** The schema that holds our tables. Default `nevertwice`. */
  readonly schema?: string;
  /** How long one statement may take in all, in milliseconds. Default 30 000. */
  readonly statementTimeoutMs?: number;
  /** Named prepared statements: faster, but not for a pooler in transaction mode. Default false. */
  readonly preparedStatements?: boolean;
  /** For tests: milliseconds since 1970, in place of the database's clock. One per store (R9). */
  readonly clock?: () => number;
  readonly runtime?: Runtime;
}

const settingNames = [
  "synchronous_commit",
  "fsync",
  "full_page_writes",
  "synchronous_standby_names",
  "server_version",
  "default_transaction_isolation",
];
/** One number for the whole product, so that two migrating processes wait for each other. */
const migrationLock = 0x6e74_7769;

/**
 * A store on a pool of `pg` (PostgreSQL ≥ 13).
 *
 * @example
 * const store = new PostgresStore(new Pool({ connectionString }));
 * await store.migrate();
 */
export class PostgresStore<
  Client extends PostgresClient = PostgresClient,
> extends SqlStore<Client> {
  readonly #pool: PostgresPool<Client>;
  readonly #options: PostgresExecutorOptions;

  constructor(pool: PostgresPool<Client>, options: PostgresStoreOptions = {}) {
    const executorOptions: PostgresExecutorOptions = {
      schema: checkedSchema(options.schema ?? "nevertwice"),
      runtime: options.runtime ?? systemRuntime,
      clock: options.clock,
      statementTimeoutMs: options.statementTimeoutMs ?? 30_000,
      preparedStatements: options.preparedStatements ?? false,
    };
    super(createPostgresExecutor(pool, executorOptions), (flush) => flush());
    this.#pool = pool;
    // An idle connection that breaks is replaced at the next statement; it must not end the process.
    pool.on?.("error", () => {});
    this.#options = executorOptions;
  }

  migrate(): Promise<MigrationReport> {
    return this.#withClient(async (client) => {
      const run = runnerOn(client);
      // Whatever the role's default: the lock orders the processes, and each must see what the last one did.
      await run("begin isolation level read committed");
      try {
        // Held to the end of the transaction; a session lock would outlive it behind a pooler.
        await run("select pg_advisory_xact_lock($1)", [migrationLock]);
        const applied = await this.#apply(run);
        await run("commit");
        return applied;
      } catch (error) {
        await run("rollback");
        throw error;
      }
    });
  }

  async #apply(run: Run): Promise<MigrationReport> {
    const schema = `"${this.#options.schema}"`;
    await run(`create schema if not exists ${schema}`);
    await run(
      `create table if not exists ${schema}.migrations ` +
        "(version integer primary key, name text not null, breaking boolean not null)",
    );
    const missing = missingMigrations(migrations, await this.#applied(run));
    for (const { version, name, breaking, text } of missing) {
      await run(`insert into ${schema}.migrations values ($1, $2, $3)`, [version, name, breaking]);
      await run(text.replaceAll(":schema", schema));
    }
    const { schemaVersion } = versionsOf(migrations, await this.#applied(run));
    return { applied: missing.map((migration) => migration.name), schemaVersion };
  }

  inspect(): Promise<StoreInspection> {
    return this.#withClient(async (client) => {
      const run = runnerOn(client);
      const rows = await run("select name, setting from pg_settings where name = any($1)", [
        settingNames,
      ]);
      const settings = Object.fromEntries(
        rows.map((row) => [String(row["name"]), String(row["setting"])]),
      );
      const [server] = await run("select pg_is_in_recovery() as in_recovery");
      return {
        dialect: "postgres",
        ...versionsOf(migrations, await this.#applied(run)),
        settings,
        unsafe: unsafeSettings(settings),
        warnings: [
          ...(await standbyWarnings(run, settings)),
          ...(server?.["in_recovery"] === true
            ? ["this server is a standby: it refuses every write"]
            : []),
        ],
      };
    });
  }

  async #applied(run: Run): Promise<AppliedMigration[]> {
    const schema = this.#options.schema;
    const [found] = await run("select to_regclass($1) is not null as found", [
      `"${schema}".migrations`,
    ]);
    if (found?.["found"] !== true) return [];
    const rows = await run(`select version, breaking from "${schema}".migrations order by version`);
    return rows.map((row) => ({
      version: count(row["version"]),
      breaking: row["breaking"] === true,
    }));
  }

  async #withClient<T>(work: (client: PostgresClient) => Promise<T>): Promise<T> {
    try {
      return await withClient(this.#pool, this.#options, work);
    } catch (error) {
      throw toStoreError(error);
    }
  }
}

type Run = (text: string, values?: unknown[]) => Promise<SqlRow[]>;

function runnerOn(client: PostgresClient): Run {
  return async (text, values = []) => (await client.query({ text, values })).rows as SqlRow[];
}

function unsafeSettings(settings: Readonly<Record<string, string>>): string[] {
  const off = ["synchronous_commit", "fsync", "full_page_writes"].filter(
    (name) => settings[name] === "off",
  );
  const localOnly =
    settings["synchronous_commit"] === "local" && settings["synchronous_standby_names"] !== "";
  return [...off.map((name) => `${name}=off`), ...(localOnly ? ["synchronous_commit=local"] : [])];
}

function checkedSchema(schema: string): string {
  // PostgreSQL keeps names that begin with pg_ to itself.
  if (/^(?!pg_)[a-z_][a-z0-9_]{0,62}$/.test(schema)) return schema;
  throw new NeverTwiceError(
    "CONFIGURATION_INVALID",
    `"${schema}" can't be the schema's name: use lower-case letters, digits and underscores, beginning with a letter, and not with pg_.`,
  );
}
