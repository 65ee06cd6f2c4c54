/**
 * Wrappers around stores and drivers, to watch them, to make them fail, to keep a transaction open;
 * and a gate inside the guard.
 */
import Database from "better-sqlite3";
import pg from "pg";
import type { Point, PointName } from "../../src/index.ts";
import { type Runtime, systemRuntime } from "../../src/base/runtime.ts";
import type { Store } from "../../src/ledger/store.ts";
import {
  type PostgresClient,
  type PostgresPool,
  PostgresStore,
} from "../../src/stores/postgres/index.ts";
import { type SqliteDatabase, SqliteStore } from "../../src/stores/sqlite/index.ts";
import type { Place } from "./worker-place.ts";

/** Holds a guard's first call at a named point. Give `onPoint` to the guard. */
export class PointGate {
  readonly onPoint: (point: Point) => Promise<void>;
  /** Resolves when a call is there. */
  readonly reached: Promise<void>;
  #open = (): void => {};

  constructor(name: PointName) {
    const opened = new Promise<void>((resolve) => (this.#open = resolve));
    let arrive = (): void => {};
    this.reached = new Promise<void>((resolve) => (arrive = resolve));
    this.onPoint = async (point) => {
      if (point.name !== name) return;
      arrive();
      await opened;
    };
  }

  /** Lets it go on, and every later one pass. */
  open(): void {
    this.#open();
  }
}

/** A runtime whose time passes only when a test says so. Everything but its timers is real. */
export class ManualRuntime implements Runtime {
  nowMs = 0;
  #timers: { dueMs: number; callback: () => void }[] = [];
  readonly monotonicMs = (): number => this.nowMs;
  readonly randomId = (): string => systemRuntime.randomId();
  readonly after = (spanMs: number, callback: () => void): (() => void) => {
    const timer = { dueMs: this.nowMs + spanMs, callback };
    this.#timers.push(timer);
    return () => void (this.#timers = this.#timers.filter((other) => other !== timer));
  };

  /** How many are set and have neither fired nor been called off. */
  get timers(): number {
    return this.#timers.length;
  }

  /** Fires what falls due on the way, in order; what that sets off has a few turns each time. */
  async advance(spanMs: number): Promise<void> {
    const untilMs = this.nowMs + spanMs;
    for (;;) {
      await someTurns();
      const [next] = this.#timers.toSorted((one, other) => one.dueMs - other.dueMs);
      if (next === undefined || next.dueMs > untilMs) break;
      this.#timers = this.#timers.filter((timer) => timer !== next);
      this.nowMs = Math.max(this.nowMs, next.dueMs);
      next.callback();
    }
    this.nowMs = untilMs;
  }

  /** Lets up to a minute pass, as fast as it goes, until the promise has settled. */
  async passUntil(promise: Promise<unknown>): Promise<void> {
    const state = { settled: false };
    const note = (): void => void (state.settled = true);
    promise.then(note, note);
    const untilMs = this.nowMs + 60_000;
    while (!state.settled && this.nowMs < untilMs) await this.advance(50);
  }
}

async function someTurns(): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

/** The store with some of its methods replaced. */
export function overriding(store: Store, replaced: Partial<Store>): Store {
  return new Proxy(store, {
    get: (target, name: keyof Store): unknown =>
      replaced[name] ?? (target[name] as () => unknown).bind(target),
  });
}

/** A store on connections of its own. */
export interface OwnStore {
  readonly store: Store;
  readonly close: () => Promise<void>;
}

/** What sees each SQL text on its way, and may do something before it goes on. */
export type Watch = (text: string) => Promise<void> | void;

/** How an {@link ownStore} differs from the usual one. */
export interface OwnStoreOptions {
  readonly clock?: (() => number) | undefined;
  /** Awaited on PostgreSQL, only called on SQLite. */
  readonly watch?: Watch;
  /** SQLite only: how long one statement blocks the process for a lock. */
  readonly busyTimeoutMs?: number;
  /** SQLite only: how long to try for a lock in all. */
  readonly busyRetryMs?: number;
  readonly statementTimeoutMs?: number;
  /** PostgreSQL only. */
  readonly runtime?: Runtime;
  readonly pool?: pg.PoolConfig;
}

/** Opens a store whose statements can be watched. */
export function ownStore(place: Place, options: OwnStoreOptions = {}): OwnStore {
  const { watch = () => {}, busyTimeoutMs, busyRetryMs, statementTimeoutMs } = options;
  const clock = options.clock === undefined ? {} : { clock: options.clock };
  if (place.kind === "sqlite") {
    const database = new Database(place.location);
    const store = new SqliteStore(watchedDatabase(database, watch), {
      ...clock,
      ...(busyTimeoutMs === undefined ? {} : { busyTimeoutMs }),
      ...(busyRetryMs === undefined ? {} : { busyRetryMs }),
    });
    return { store, close: async () => void database.close() };
  }
  const pool = new pg.Pool({ connectionString: place.location, max: 4, ...options.pool });
  pool.on("error", () => {});
  const store = new PostgresStore(watchedPool(pool, watch), {
    schema: place.schema,
    ...clock,
    ...(statementTimeoutMs === undefined ? {} : { statementTimeoutMs }),
    ...(options.runtime === undefined ? {} : { runtime: options.runtime }),
  });
  return { store, close: () => pool.end() };
}

function watchedDatabase(database: Database.Database, watch: Watch): SqliteDatabase {
  return {
    exec: (sql) => {
      void watch(sql);
      return database.exec(sql);
    },
    prepare: (sql) => {
      const statement = database.prepare(sql);
      return {
        all: (...params) => {
          void watch(sql);
          return statement.all(...params);
        },
      };
    },
    function: (name, options, compute) => database.function(name, options, compute),
  };
}

function watchedPool(pool: pg.Pool, watch: Watch): PostgresPool {
  return {
    connect: async () => {
      const client = await pool.connect();
      return clientWith(client, {
        query: async (query) => {
          await watch(query.text);
          return client.query(query);
        },
      });
    },
  };
}

/** A client with some of its methods replaced. */
export function clientWith(
  client: pg.PoolClient,
  replaced: Partial<PostgresClient>,
): PostgresClient {
  return {
    query: (query) => client.query(query),
    release: (error) => client.release(error),
    on: (event, listener) => client.on(event, listener),
    off: (event, listener) => client.off(event, listener),
    ...replaced,
  };
}

/** A store whose statements stay in one open transaction until the test ends it. */
export interface UncommittedStore extends OwnStore {
  readonly end: (how: "commit" | "rollback") => Promise<void>;
}

/** Opens a store in a transaction of its own. */
export async function uncommittedStore(place: Place): Promise<UncommittedStore> {
  return place.kind === "sqlite" ? beginOnSqlite(place.location) : beginOnPostgres(place);
}

function beginOnSqlite(location: string): UncommittedStore {
  const database = new Database(location);
  const store = new SqliteStore({
    ...watchedDatabase(database, () => {}),
    exec: (sql) => (sql === "COMMIT" ? undefined : database.exec(sql)),
  });
  return {
    store,
    end: async (how) => void database.exec(how),
    close: async () => void database.close(),
  };
}

async function beginOnPostgres({ location, schema }: Place): Promise<UncommittedStore> {
  const pool = new pg.Pool({ connectionString: location, max: 1 });
  const client = await pool.connect();
  await client.query("begin");
  const kept = clientWith(client, { release: () => {} });
  return {
    store: new PostgresStore({ connect: async () => kept }, { schema }),
    end: async (how) => void (await client.query(how)),
    close: async () => {
      client.release();
      await pool.end();
    },
  };
}
