/** `describeStores` for PostgreSQL behind pgbouncer: transaction pooling, two server connections. */
import pg from "pg";
import { afterAll, beforeAll, describe, inject } from "vitest";
import { type Pgbouncer, findPgbouncer, startPgbouncer } from "./pgbouncer.ts";
import { type PostgresDatabase, createDatabase } from "./postgres-database.ts";
import type { OpenOptions, OpenStore, StoreSuite } from "./stores.ts";

/** Where PostgreSQL is, by way of pgbouncer and without it. */
export interface PooledServer {
  readonly url: string;
  readonly directUrl: string;
}

type OpenPostgres = (url: string, options?: OpenOptions) => Promise<OpenStore>;

/** One database behind one pgbouncer for the whole file; null where a part is missing. */
export function pooledServer(poolSize: number): () => PooledServer {
  let database: PostgresDatabase | undefined;
  let pgbouncer: Pgbouncer | null = null;
  beforeAll(async () => {
    if (isPoolerMissing()) return;
    database = await createDatabase(inject("postgresUrl") ?? "");
    pgbouncer = await startPgbouncer({ databaseUrl: database.url, poolSize });
  });
  afterAll(async () => {
    await pgbouncer?.stop();
    await database?.drop();
  });
  return () => ({ url: pgbouncer?.url ?? "", directUrl: database?.url ?? "" });
}

/** True where the tests behind pgbouncer can't run; then that is said loudly. */
export function isPoolerMissing(): boolean {
  return inject("postgresUrl") === null || findPgbouncer() === null;
}

/** Takes the place of `describeStores`, so that a file of scenarios can be run once more. */
export function describePooledStores(
  server: () => PooledServer,
  openPostgres: OpenPostgres,
  title: string,
  define: (suite: StoreSuite) => void,
): void {
  describe.skipIf(isPoolerMissing())(`${title} (pgbouncer)`, () => {
    const closers: (() => Promise<void>)[] = [];
    afterAll(async () => {
      for (const close of closers) await close();
    });
    define({
      kind: "postgres",
      open: async (options = {}) => {
        const { url, directUrl } = server();
        const opened = await openPostgres(url, options);
        // What a test looks at past the store must not need a third server connection.
        const direct = new pg.Pool({ connectionString: directUrl, max: 1 });
        direct.on("error", () => {});
        closers.push(
          () => opened.close(),
          () => direct.end(),
        );
        return {
          ...opened,
          sql: async (text) =>
            (await direct.query(text.replaceAll(":schema.", `"${opened.schema}".`))).rows,
        };
      },
    });
  });
}
