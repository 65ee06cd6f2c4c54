/**
 * Settings under which an acknowledged claim can be lost are refused at start-up, unless each is
 * accepted by its name (R27).
 */
import Database from "better-sqlite3";
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from "vitest";
import { type Warning, createGuard } from "../../src/index.ts";
import { leaseSlackMs } from "../../src/ledger/window.ts";
import { PostgresStore } from "../../src/stores/postgres/index.ts";
import { SqliteStore } from "../../src/stores/sqlite/index.ts";
import { type PostgresDatabase, createDatabase } from "../support/postgres-database.ts";
import { describeStores, openSqlite, sqliteSuite } from "../support/stores.ts";
import { clientWith } from "../support/worker-wrappers.ts";

describeStores("a store as it comes", (suite) => {
  it("is safe, and says how it is set up", async () => {
    const { store } = await suite.open();
    const inspection = await store.inspect();
    expect(inspection).toMatchObject({ dialect: suite.kind, unsafe: [], warnings: [] });
    expect(inspection.settings).toMatchObject(
      suite.kind === "sqlite"
        ? {
            synchronous: "FULL",
            journal_mode: "wal",
            busy_timeout: expect.stringMatching(/^[1-9]/),
          }
        : { synchronous_commit: "on", fsync: "on", full_page_writes: "on" },
    );
    await expect(createGuard({ store })).resolves.toBeDefined();
  });
});

it("a SQLite store holds its process up for less than half a lease's slack (R11)", async () => {
  const { store } = await sqliteSuite.open();
  const { settings } = await store.inspect();
  expect(Number(settings["busy_timeout"])).toBeLessThan(leaseSlackMs / 2);
});

describe("a SQLite connection that its user set up", () => {
  /** A migrated file, opened again by a user who knows better. */
  const openWith = async (...pragmas: string[]): Promise<SqliteStore> => {
    const opened = await openSqlite();
    const database = new Database(opened.location);
    onTestFinished(async () => {
      database.close();
      await opened.close();
    });
    for (const pragma of pragmas) database.pragma(pragma);
    return new SqliteStore(database, { configure: false });
  };

  it.each([
    ["synchronous=OFF", "synchronous = off"],
    ["synchronous=NORMAL", "synchronous = normal"],
  ])("is refused with %s, and accepted by that name alone", async (name, pragma) => {
    const store = await openWith(pragma, "busy_timeout = 500");
    expect((await store.inspect()).unsafe).toEqual([name]);
    const unsafe = { code: "STORE_UNSAFE", details: { unsafe: [name] } };
    await expect(createGuard({ store })).rejects.toMatchObject(unsafe);
    for (const accept of [["synchronous"], ["file=:memory:"], ["synchronous=EXTRA"], ["*"]]) {
      await expect(createGuard({ store, accept })).rejects.toMatchObject(unsafe);
    }
    await expect(createGuard({ store, accept: [name] })).resolves.toBeDefined();
  });

  it.each(["synchronous = full", "synchronous = extra"])("is safe with %s", async (pragma) => {
    const store = await openWith(pragma, "busy_timeout = 500");
    expect(await store.inspect()).toMatchObject({ unsafe: [], warnings: [] });
  });

  it("is told of a missing busy_timeout, which is no danger", async () => {
    const store = await openWith("synchronous = full", "busy_timeout = 0");
    const warnings: Warning[] = [];
    await createGuard({ store, onWarning: (warning) => void warnings.push(warning) });
    expect(warnings.map((warning) => warning.message)).toEqual([
      expect.stringContaining("busy_timeout is 0"),
    ]);
  });

  it.each([[":memory:"], [""]])(
    "is refused when it is in memory or temporary: %j",
    async (file) => {
      const database = new Database(file);
      onTestFinished(() => void database.close());
      const store = new SqliteStore(database);
      await store.migrate();
      expect((await store.inspect()).unsafe).toContain("file=:memory:");
      await expect(createGuard({ store })).rejects.toMatchObject({ code: "STORE_UNSAFE" });
      const { unsafe: accept } = await store.inspect();
      await expect(createGuard({ store, accept })).resolves.toBeDefined();
    },
  );

  it("is refused without a journal to roll back from", async () => {
    const directory = mkdtempSync(join(tmpdir(), "nevertwice-"));
    const database = new Database(join(directory, "store.sqlite"));
    onTestFinished(() => {
      database.close();
      rmSync(directory, { recursive: true });
    });
    const store = new SqliteStore(database, { configure: false });
    await store.migrate();
    database.unsafeMode(true);
    database.pragma("journal_mode = off");
    expect((await store.inspect()).unsafe).toEqual(["journal_mode=off"]);
    await expect(createGuard({ store })).rejects.toMatchObject({ code: "STORE_UNSAFE" });
  });
});

describe.skipIf(inject("postgresUrl") === null)("a PostgreSQL session", () => {
  let database: PostgresDatabase;
  const role = `careless_${randomBytes(6).toString("hex")}`;
  beforeAll(async () => {
    database = await createDatabase(inject("postgresUrl") ?? "");
    const pool = new pg.Pool({ connectionString: database.url, max: 1 });
    await new PostgresStore(pool).migrate();
    await pool.query(`create role ${role} login superuser password 'secret'`);
    await pool.query(`alter role ${role} set synchronous_commit = 'off'`);
    await pool.end();
  });
  afterAll(async () => {
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    await client.query(`drop role ${role}`);
    await client.end();
    await database.drop();
  });

  const open = (config: pg.PoolConfig): PostgresStore => {
    const pool = new pg.Pool({ connectionString: database.url, max: 1, ...config });
    pool.on("error", () => {});
    onTestFinished(() => pool.end());
    return new PostgresStore(pool);
  };
  const unsafe = {
    code: "STORE_UNSAFE",
    details: { unsafe: ["synchronous_commit=off"] },
  };

  it("is refused when its role turned synchronous_commit off", async () => {
    const url = new URL(database.url);
    url.username = role;
    url.password = "secret";
    const store = open({ connectionString: url.href });
    await expect(createGuard({ store })).rejects.toMatchObject(unsafe);
    const accept = ["synchronous_commit=off"];
    await expect(createGuard({ store, accept })).resolves.toBeDefined();
  });

  it("is refused when its connection options turned synchronous_commit off", async () => {
    const store = open({ options: "-c synchronous_commit=off" });
    await expect(createGuard({ store })).rejects.toMatchObject(unsafe);
    await expect(
      createGuard({ store, accept: ["fsync=off", "synchronous_commit=local"] }),
    ).rejects.toMatchObject(unsafe);
    const accept = ["synchronous_commit=off"];
    await expect(createGuard({ store, accept })).resolves.toBeDefined();
  });

  it.each(["on", "local", "remote_write", "remote_apply"])(
    "is safe with synchronous_commit=%s where no standby is named",
    async (value) => {
      const store = open({ options: `-c synchronous_commit=${value}` });
      expect((await store.inspect()).unsafe).toEqual([]);
    },
  );

  /** A session whose server reports something else than it is. */
  const reporting = (like: RegExp, rows: readonly Record<string, unknown>[]): PostgresStore => {
    const pool = new pg.Pool({ connectionString: database.url, max: 1 });
    onTestFinished(() => pool.end());
    return new PostgresStore({
      connect: async () => {
        const client = await pool.connect();
        return clientWith(client, {
          query: async (query) =>
            like.test(query.text) ? { rows: [...rows] } : client.query(query),
        });
      },
    });
  };

  it("is refused on a server that doesn't flush", async () => {
    const store = reporting(/pg_settings/, [
      { name: "fsync", setting: "off" },
      { name: "synchronous_commit", setting: "on" },
    ]);
    await expect(createGuard({ store })).rejects.toMatchObject({
      details: { unsafe: ["fsync=off"] },
    });
    await expect(createGuard({ store, accept: ["fsync=off"] })).resolves.toBeDefined();
  });

  it.each<[string, Record<string, unknown>[], unknown[]]>([
    ["an asynchronous", [{ name: "b", state: "async" }], ["the standby b is asynchronous: "]],
    [
      "a potential",
      [
        { name: "b", state: "sync" },
        { name: "c", state: "potential" },
      ],
      ["the standby c is asynchronous as long as another one is there: "],
    ],
    ["no synchronous or quorum", [{ name: "b", state: "quorum" }], []],
    ["one hidden", [{ name: null, state: null }], ["a standby is attached, but this role can't"]],
    [
      "two hidden",
      [
        { name: null, state: null },
        { name: null, state: null },
      ],
      ["2 standbys are attached, but this role can't"],
    ],
  ])("is told of %s standby", async (_, standbys, expected) => {
    const warnings: Warning[] = [];
    const store = reporting(/pg_stat_replication/, standbys);
    await createGuard({ store, onWarning: (warning) => void warnings.push(warning) });
    expect(warnings.map((warning) => warning.message)).toEqual(
      expected.map((beginning) => expect.stringContaining(String(beginning))),
    );
  });

  it("is told of being on a standby", async () => {
    const store = reporting(/pg_is_in_recovery/, [{ in_recovery: true }]);
    expect((await store.inspect()).warnings).toEqual([
      "this server is a standby: it refuses every write",
    ]);
  });

  it("is told when it may not look for standbys", async () => {
    const watcher = new pg.Client({ connectionString: database.url });
    await watcher.connect();
    onTestFinished(() => watcher.end());
    await watcher.query("revoke select on pg_stat_replication from public");
    const plain = `plain_${randomBytes(6).toString("hex")}`;
    await watcher.query(`create role ${plain} login password 'secret'`);
    await watcher.query(`grant usage on schema nevertwice to ${plain}`);
    await watcher.query(`grant select on nevertwice.migrations to ${plain}`);
    const url = new URL(database.url);
    Object.assign(url, { username: plain, password: "secret" });
    const store = open({ connectionString: url.href });
    expect((await store.inspect()).warnings).toEqual([
      expect.stringMatching(/^the standbys can't be seen .*permission denied.*pg_monitor/),
    ]);
    await watcher.query(`drop owned by ${plain}`);
    await watcher.query(`drop role ${plain}`);
  });
});
