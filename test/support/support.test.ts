// The servers that other tests rely on are real: PostgreSQL is durable, pgbouncer really pools.
import { Client } from "pg";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { findPgbouncer, startPgbouncer } from "./pgbouncer.ts";
import { createDatabase, type PostgresDatabase } from "./postgres-database.ts";

const serverUrl = inject("postgresUrl");

describe.skipIf(serverUrl === null)("the servers of the tests", () => {
  let database: PostgresDatabase;
  beforeAll(async () => {
    database = await createDatabase(serverUrl ?? "");
  });
  afterAll(() => database.drop());

  it("PostgreSQL is durable, speaks UTF-8, and gives each file an empty database", async () => {
    const client = new Client(database.url);
    await client.connect();
    const settings = ["fsync", "synchronous_commit", "server_encoding", "max_connections"];
    const { rows } = await client.query(
      `select current_setting(name) as value from unnest($1::text[]) as name
       union all select count(*)::text from pg_stat_user_tables`,
      [settings],
    );
    await client.end();
    expect(rows.map((row) => row.value)).toEqual(["on", "on", "UTF8", "200", "0"]);
  });

  it.skipIf(findPgbouncer() === null)("pgbouncer lets two clients share one session", async () => {
    const pgbouncer = await startPgbouncer({ databaseUrl: database.url, poolSize: 1 });
    const clients = [new Client(pgbouncer?.url), new Client(pgbouncer?.url)];
    await Promise.all(clients.map((client) => client.connect()));
    const answers = await Promise.all(clients.map((one) => one.query("select pg_backend_pid()")));
    await Promise.all(clients.map((client) => client.end()));
    await pgbouncer?.stop();
    expect(new Set(answers.map((answer) => answer.rows[0].pg_backend_pid)).size).toBe(1);
  });
});
