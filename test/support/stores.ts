/**
 * Both stores, for tests that hold on each of them.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import pg from "pg";
import { afterAll, beforeAll, describe, inject, onTestFinished } from "vitest";
import { sha256Hex } from "../../src/base/canonical-json.ts";
import type { EffectStore } from "../../src/ledger/transaction.ts";
import { PostgresStore } from "../../src/stores/postgres/index.ts";
import { SqliteStore } from "../../src/stores/sqlite/index.ts";
import { type PostgresDatabase, createDatabase } from "./postgres-database.ts";

export const storeKinds = ["sqlite", "postgres"] as const;
export type StoreKind = (typeof storeKinds)[number];

/** The database's clock, set by a test. */
export class TestClock {
  nowMs = 1_780_000_000_000;
  readonly read = (): number => this.nowMs;

  advance(spanMs: number): void {
    this.nowMs += spanMs;
  }
}

export interface OpenStore {
  readonly kind: StoreKind;
  readonly store: EffectStore;
  /** `file` for SQLite, a URL for PostgreSQL: what a second process needs to open the same store. */
  readonly location: string;
  readonly schema: string;
  /** Another store object on the same database, with its own connection. */
  again(options?: OpenOptions): Promise<EffectStore>;
  /** Runs SQL past the store, to set up what can't be had through it. */
  sql(text: string): Promise<Record<string, unknown>[]>;
  close(): Promise<void>;
}

export interface OpenOptions {
  readonly clock?: TestClock | undefined;
  readonly poolSize?: number;
}

export interface StoreSuite {
  readonly kind: StoreKind;
  /** A fresh, migrated store. Closed after the suite. */
  open(options?: OpenOptions): Promise<OpenStore>;
}

/** SQLite alone, for a test to which the store makes no difference. Closed after the test. */
export const sqliteSuite: StoreSuite = {
  kind: "sqlite",
  open: async (options) => {
    const opened = await openSqlite(options);
    onTestFinished(() => opened.close());
    return opened;
  },
};

let fileDatabase: Promise<PostgresDatabase> | undefined;

/** One database for a test file; each store in it has a schema of its own. */
function databaseOfFile(): Promise<PostgresDatabase> {
  const url = inject("postgresUrl");
  if (url === null) throw new Error("there is no PostgreSQL");
  fileDatabase ??= createDatabase(url);
  return fileDatabase;
}

/** Runs the suite once for each store; without PostgreSQL its half is skipped, loudly (global-setup). */
export function describeStores(title: string, define: (suite: StoreSuite) => void): void {
  for (const kind of storeKinds) {
    describe.skipIf(kind === "postgres" && inject("postgresUrl") === null)(
      `${title} (${kind})`,
      () => {
        const opened: OpenStore[] = [];
        let database: PostgresDatabase | undefined;
        beforeAll(async () => {
          if (kind === "postgres") database = await databaseOfFile();
        });
        afterAll(async () => {
          for (const store of opened) await store.close();
        });
        define({
          kind,
          open: async (options = {}) => {
            const store = await (kind === "sqlite"
              ? openSqlite(options)
              : openPostgres(database?.url ?? "", options));
            opened.push(store);
            return store;
          },
        });
      },
    );
  }
}

/** A SQLite store in a file of its own. */
export async function openSqlite(options: OpenOptions = {}): Promise<OpenStore> {
  const directory = mkdtempSync(join(tmpdir(), "nevertwice-"));
  const location = join(directory, "store.sqlite");
  const connections: Database.Database[] = [];
  const connect = (): Database.Database => {
    const connection = new Database(location);
    connections.push(connection);
    return connection;
  };
  const again = async (more: OpenOptions = options): Promise<EffectStore> =>
    new SqliteStore(connect(), clockOf(more));
  const store = await again();
  await store.migrate();
  const raw = connect();
  raw.function("nevertwice_sha256", { deterministic: true }, (text: string) => sha256Hex(text));
  return {
    kind: "sqlite",
    store,
    location,
    schema: "",
    again,
    sql: async (text) => {
      const statement = raw.prepare(text.replaceAll(":schema.", "nevertwice_"));
      return statement.reader
        ? (statement.all() as Record<string, unknown>[])
        : (statement.run(), []);
    },
    close: async () => {
      for (const connection of connections) connection.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** A PostgreSQL store in a schema of its own. */
export async function openPostgres(url: string, options: OpenOptions = {}): Promise<OpenStore> {
  const schema = `t_${Math.random().toString(36).slice(2, 12)}`;
  const pools: pg.Pool[] = [];
  const again = async (more: OpenOptions = options): Promise<EffectStore> => {
    const pool = new pg.Pool({ connectionString: url, max: more.poolSize ?? 4 });
    pools.push(pool);
    return new PostgresStore(pool, { schema, ...clockOf(more) });
  };
  const store = await again();
  await store.migrate();
  return {
    kind: "postgres",
    store,
    location: url,
    schema,
    again,
    sql: async (text) => {
      const [pool] = pools;
      if (pool === undefined) throw new Error("no pool");
      return (await pool.query(text.replaceAll(":schema.", `"${schema}".`))).rows as Record<
        string,
        unknown
      >[];
    },
    close: async () => {
      for (const pool of pools) await pool.end();
    },
  };
}

function clockOf(options: OpenOptions): { clock?: () => number } {
  return options.clock === undefined ? {} : { clock: options.clock.read };
}
