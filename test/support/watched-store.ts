/** Stores on a driver that is watched: something happens before and after each SQL statement. */
import type { PoolClient } from "pg";
import type { EffectStore } from "../../src/ledger/transaction.ts";
import type { PostgresClient } from "../../src/stores/postgres/index.ts";
import type { SqliteDatabase } from "../../src/stores/sqlite/index.ts";
import type { Place } from "./worker-place.ts";

/** Told of each statement. On SQLite it can't make anybody wait: the driver is synchronous. */
export interface Watcher {
  before(sql: string): Promise<void> | void;
  after(sql: string): Promise<void> | void;
}

/** A connection or pool for many stores. */
export interface WatchedPlace {
  /** A store of its own, told apart by its watcher: whoever stands still in one holds up no other. */
  storeFor(watcher: Watcher): EffectStore;
  close(): Promise<void>;
}

/** Opens the place. Drivers are loaded when they are needed, for a worker's start is what costs here. */
export function openWatched(place: Place): Promise<WatchedPlace> {
  return place.kind === "sqlite" ? openSqlite(place) : openPostgres(place);
}

async function openSqlite({ location }: Place): Promise<WatchedPlace> {
  const { default: Database } = await import("better-sqlite3");
  const { SqliteStore } = await import("../../src/stores/sqlite/index.ts");
  const database = new Database(location);
  const watchedBy = (watcher: Watcher): SqliteDatabase => {
    const watched = <T>(sql: string, work: () => T): T => {
      void watcher.before(sql);
      const result = work();
      void watcher.after(sql);
      return result;
    };
    return {
      exec: (sql) => watched(sql, () => database.exec(sql)),
      prepare: (sql) => {
        const statement = database.prepare(sql);
        return { all: (...params) => watched(sql, () => statement.all(...params)) };
      },
      function: (name, options, compute) => database.function(name, options, compute),
    };
  };
  return {
    storeFor: (watcher) => new SqliteStore(watchedBy(watcher)),
    close: async () => void database.close(),
  };
}

async function openPostgres({ location, schema }: Place): Promise<WatchedPlace> {
  const { default: pg } = await import("pg");
  const { PostgresStore } = await import("../../src/stores/postgres/index.ts");
  // Whoever stands at a statement keeps its connection, and must not be roused by a time limit.
  const pool = new pg.Pool({ connectionString: location, max: 24 });
  pool.on("error", () => {});
  const options = { schema, statementTimeoutMs: 600_000 };
  return {
    storeFor: (watcher) => {
      const connect = async (): Promise<PostgresClient> =>
        watchedClient(await pool.connect(), watcher);
      return new PostgresStore({ connect }, options);
    },
    close: () => pool.end(),
  };
}

function watchedClient(client: PoolClient, watcher: Watcher): PostgresClient {
  return {
    query: async (query) => {
      await watcher.before(query.text);
      const result = await client.query(query);
      await watcher.after(query.text);
      return result;
    },
    release: (error) => client.release(error),
    on: (event, listener) => client.on(event, listener),
    off: (event, listener) => client.off(event, listener),
  };
}
