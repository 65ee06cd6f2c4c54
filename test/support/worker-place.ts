/** Opens a store in a process of its own, by the database's own clock. */
import Database from "better-sqlite3";
import pg from "pg";
import type { Store } from "../../src/ledger/store.ts";
import { PostgresStore } from "../../src/stores/postgres/index.ts";
import { SqliteStore } from "../../src/stores/sqlite/index.ts";

/** What a second process needs to open the same store; an `OpenStore` is one. */
export interface Place {
  readonly kind: "sqlite" | "postgres";
  readonly location: string;
  readonly schema: string;
}

/** The parts of a place that can be sent to another process. */
export function placeOf({ kind, location, schema }: Place): Place {
  return { kind, location, schema };
}

/** Opens the store; its connections live as long as the process. */
export function openPlace({ kind, location, schema }: Place, poolSize = 4): Store {
  if (kind === "sqlite") return new SqliteStore(new Database(location));
  const pool = new pg.Pool({ connectionString: location, max: poolSize });
  // A connection that is cut while nobody uses it is no news for a worker.
  pool.on("error", () => {});
  return new PostgresStore(pool, { schema });
}
