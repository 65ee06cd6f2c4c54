/** Stores on a driver that is watched: something happens before and after each SQL statement. */
import type { PoolClient } from "pg";
import type { PostgresClient } from "../../src/stores/postgres/index.ts";
import type { Place } from "../support/worker-place.ts";
import type { OwnStore } from "../support/worker-wrappers.ts";

/** Told of each statement. On SQLite it can't make anybody wait: the driver is synchronous. */
export interface Watcher {
  before(): Promise<void> | void;
  after(): Promise<void> | void;
}

/** Opens the store. Drivers are loaded when they are needed, for a worker's start is what costs here. */
export function openWatched(place: Place, watcher: Watcher): Promise<OwnStore> {
  return place.kind === "sqlite" ? openSqlite(place, watcher) : openPostgres(place, watcher);
}

async function openSqlite({ location }: Place, watcher: Watcher): Promise<OwnStore> {
  const { default: Database } = await import("better-sqlite3");
  const { SqliteStore } = await import("../../src/stores/sqlite/index.ts");
  const database = new Database(location);
  const watched = <T>(work: () => T): T => {
    void watcher.before();
    const result = work();
    void watcher.after();
    return result;
  };
  const store = new SqliteStore({
    exec: (sql) => watched(() => database.exec(sql)),
    prepare: (sql) => {
      const statement = database.prepare(sql);
      return { all: (...params) => watched(() => statement.all(...params)) };
    },
    function: (name, options, compute) => database.function(name, options, compute),
  });
  return { store, close: async () => void database.close() };
}

async function openPostgres({ location, schema }: Place, watcher: Watcher): Promise<OwnStore> {
  const { default: pg } = await import("pg");
  const { PostgresStore } = await import("../../src/stores/postgres/index.ts");
  // Whoever stands at a statement keeps its connection, and must not be roused by a time limit.
  const pool = new pg.Pool({ connectionString: location, max: 24 });
  pool.on("error", () => {});
  const connect = async (): Promise<PostgresClient> => watchedClient(await pool.connect(), watcher);
  const store = new PostgresStore({ connect }, { schema, statementTimeoutMs: 600_000 });
  return { store, close: () => pool.end() };
}

function watchedClient(client: PoolClient, watcher: Watcher): PostgresClient {
  return {
    query: async (query) => {
      await watcher.before();
      const result = await client.query(query);
      await watcher.after();
      return result;
    },
    release: (error) => client.release(error),
    on: (event, listener) => client.on(event, listener),
    off: (event, listener) => client.off(event, listener),
  };
}
