/**
 * PostgreSQL that is out of reach, slow or silent: whoever calls hears of it in time, in our words,
 * and nothing is sent (R28). And what a schema may be called.
 */
import pg from "pg";
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from "vitest";
import { createGuard } from "../../src/index.ts";
import { PostgresStore } from "../../src/stores/postgres/index.ts";
import {
  type FakeProvider,
  type ProviderClient,
  createProviderClient,
  startFakeProvider,
} from "../../src/testing/fake-provider/index.ts";
import { type PostgresDatabase, createDatabase } from "../support/postgres-database.ts";
import { startWorker } from "../support/processes.ts";
import { type OpenStore, openPostgres } from "../support/stores.ts";
import { claimParams, completeParams } from "../support/worker-params.ts";
import { placeOf } from "../support/worker-place.ts";
import { type Wire, layWire } from "../support/worker-proxy.ts";
import type { StoreCommands } from "../support/worker-store.ts";
import { workerRefund } from "../support/worker-tool.ts";
import { ManualRuntime, ownStore } from "../support/worker-wrappers.ts";

const unavailable = { code: "STORE_UNAVAILABLE" };

describe.skipIf(inject("postgresUrl") === null)("PostgreSQL", () => {
  let database: PostgresDatabase;
  let provider: FakeProvider;
  let client: ProviderClient;
  beforeAll(async () => {
    database = await createDatabase(inject("postgresUrl") ?? "");
    provider = await startFakeProvider();
    client = createProviderClient({ url: provider.url });
  });
  afterAll(async () => {
    client.close();
    await provider.close();
    await database.drop();
  });

  /** A migrated store, and another that reaches it by a wire of its own. */
  const openByWire = async (options: Parameters<typeof ownStore>[1] = {}) => {
    const opened = await openPostgres(database.url);
    const wire: Wire = await layWire(database.url);
    const remote = ownStore({ ...placeOf(opened), location: wire.url }, options);
    onTestFinished(async () => {
      await wire.close();
      await remote.close();
      await opened.close();
    });
    return { opened, wire, store: remote.store };
  };
  const args = { orderId: "8812", amountMinor: 48_000 };

  it("that nobody listens for is unavailable", async () => {
    const url = new URL(database.url);
    url.port = "1";
    const { store, close } = ownStore({ kind: "postgres", location: url.href, schema: "s" });
    onTestFinished(close);
    await expect(createGuard({ store })).rejects.toMatchObject(unavailable);
    await expect(store.claim(claimParams("k"))).rejects.toMatchObject(unavailable);
    await expect(store.migrate()).rejects.toMatchObject(unavailable);
  });

  it("that doesn't know the password or the database is unavailable", async () => {
    for (const change of [{ password: "wrong" }, { pathname: "/no_such_database" }]) {
      const { href: location } = Object.assign(new URL(database.url), change) as URL;
      const { store, close } = ownStore({ kind: "postgres", location, schema: "s" });
      onTestFinished(close);
      await expect(store.claim(claimParams("k"))).rejects.toMatchObject(unavailable);
    }
  });

  it("that goes away is unavailable, nothing is sent, and it may come back", async () => {
    const { store, wire } = await openByWire();
    const guard = await createGuard({ store });
    const refund = workerRefund(client, {});
    wire.cut();
    const before = provider.arrivals().length;
    await expect(guard.run(refund, args, { tenant: "away" })).rejects.toMatchObject(unavailable);
    expect(provider.arrivals()).toHaveLength(before);
    wire.mend();
    const outcome = await guard.run(refund, args, { tenant: "away" });
    expect(outcome).toMatchObject({ status: "DONE", replayed: false });
    expect(provider.arrivals()).toHaveLength(before + 1);
  });

  it("that is cut off in mid-statement is unavailable, and the process lives on", async () => {
    const { opened, wire } = await openByWire();
    const worker = await startWorker<StoreCommands>("worker-store.ts");
    const place = { ...placeOf(opened), location: wire.url };
    await worker.call("open", { place });
    const free = await holdRow(opened);
    const claiming = worker.call("claim", { keys: ["k"], copies: 1, together: 1 });
    await whenBlocked(opened);
    wire.cut();
    expect(await claiming).toMatchObject({
      created: [],
      failures: [expect.stringContaining("Connection terminated")],
    });
    await free();
    wire.mend();
    const again = await worker.call("claim", { keys: ["k", "l"], copies: 1, together: 2 });
    expect(again).toEqual({ created: ["l"], answers: 2, failures: [] });
  });

  it("that ends our session by an administrator's word is unavailable once, then there again", async () => {
    const { opened, store } = await openByWire();
    const free = await holdRow(opened);
    const claiming = store.claim(claimParams("k"));
    claiming.catch(() => {});
    await whenBlocked(opened);
    await opened.sql(`select pg_terminate_backend(pid) ${waiters(opened.schema)}`);
    await expect(claiming).rejects.toMatchObject(unavailable);
    await free();
    expect(await store.claim(claimParams("k"))).toMatchObject({ key: "k" });
  });

  it("that takes too long for a statement is unavailable within the limit", async () => {
    const runtime = new ManualRuntime();
    const { opened, store } = await openByWire({ statementTimeoutMs: 1000, runtime });
    const free = await holdRow(opened);
    const claiming = store.claim(claimParams("k"));
    await whenBlocked(opened);
    const took = await timed(runtime, claiming);
    expect(took.error).toMatchObject(unavailable);
    expect(String(took.error)).toContain("no answer within 1000 ms");
    expect(took.ms).toBeLessThan(20_000);
    await free();
    await expect(store.complete(completeParams("k"))).resolves.toMatchObject({ status: "DONE" });
  });

  it("that falls silent in mid-connection is unavailable within the limit", async () => {
    const runtime = new ManualRuntime();
    let statements = 0;
    const { store, wire } = await openByWire({
      statementTimeoutMs: 1000,
      runtime,
      pool: { max: 1 },
      watch: () => void (statements += 1),
    });
    await store.claim(claimParams("before"));
    wire.silence();
    const before = statements;
    const claiming = store.claim(claimParams("k"));
    await expect.poll(() => statements).toBeGreaterThan(before);
    const took = await timed(runtime, claiming);
    expect(took.error).toMatchObject(unavailable);
    expect(took.ms).toBeLessThan(20_000);
    wire.mend();
    expect(await store.claim(claimParams("k"))).toMatchObject({ key: "k" });
  });

  it("that takes connections and says nothing is unavailable within the limit", async () => {
    const runtime = new ManualRuntime();
    const { store, wire } = await openByWire({ statementTimeoutMs: 1000, runtime });
    wire.silence();
    const took = await timed(runtime, store.claim(claimParams("k")));
    expect(took.error).toMatchObject(unavailable);
    expect(took.ms).toBeLessThan(20_000);
  });

  it("whose pool has no connection to give is unavailable within the limit", async () => {
    const opened = await openPostgres(database.url);
    const pool = new pg.Pool({ connectionString: database.url, max: 1 });
    const runtime = new ManualRuntime();
    const options = { schema: opened.schema, statementTimeoutMs: 1000, runtime };
    const store = new PostgresStore(pool, options);
    const borrowed = await pool.connect();
    onTestFinished(async () => {
      await pool.end();
      await opened.close();
    });
    const took = await timed(runtime, store.claim(claimParams("k")));
    borrowed.release();
    expect(took.error).toMatchObject(unavailable);
    expect(took.ms).toBeLessThan(20_000);
    expect(await store.claim(claimParams("k"))).toMatchObject({ key: "k" });
  });

  it("keeps schemas apart, and takes any name that needs no quoting", async () => {
    const pool = new pg.Pool({ connectionString: database.url, max: 2 });
    onTestFinished(() => pool.end());
    const names = ["other", "_ledger", "a1_b2", "x".repeat(63), "select"];
    const stores = names.map((schema) => new PostgresStore(pool, { schema }));
    for (const store of [...stores, new PostgresStore(pool)]) {
      expect((await store.migrate()).applied).toEqual([
        "0001-ledger",
        "0002-effects",
        "0003-late-looks",
        "0004-dead-letters",
      ]);
      const params = claimParams("k");
      expect((await store.claim(params)).acquisitionId).toBe(params.acquisitionId);
      await expect(createGuard({ store })).resolves.toBeDefined();
    }
    const { rows } = await pool.query('select count(*) from "select".operations');
    expect(rows).toEqual([{ count: "1" }]);
  });

  it.each([
    "",
    "A",
    "Ledger",
    "1a",
    "a-b",
    "a b",
    'a"b',
    "a;drop table x",
    "é",
    "pg_ledger",
    "x".repeat(64),
  ])("can't have its tables in a schema called %j", (schema) => {
    const pool = { connect: () => Promise.reject(new Error("never")) };
    const open = () => new PostgresStore(pool, { schema });
    expect(open).toThrow(expect.objectContaining({ code: "CONFIGURATION_INVALID" }));
  });
});

/** Claims the key `k`, holds its row in a transaction, and returns how to let go of it. */
async function holdRow({ location, schema, store }: OpenStore): Promise<() => Promise<void>> {
  await store.claim(claimParams("k"));
  const holder = new pg.Client({ connectionString: location });
  await holder.connect();
  let isHeld = true;
  const free = async (): Promise<void> => {
    if (isHeld) await holder.end();
    isHeld = false;
  };
  onTestFinished(free);
  await holder.query("begin");
  await holder.query(`update "${schema}".operations set sweeps = sweeps`);
  return free;
}

/** Resolves when a statement of this store waits for a lock. */
async function whenBlocked(opened: OpenStore): Promise<void> {
  const blocked = `select 1 ${waiters(opened.schema)}`;
  await expect.poll(() => opened.sql(blocked)).toHaveLength(1);
}

function waiters(schema: string): string {
  return `from pg_stat_activity where wait_event_type = 'Lock' and query like '%"${schema}"%'`;
}

/** What it failed with, and after how much of the runtime's time. */
async function timed(
  runtime: ManualRuntime,
  running: Promise<unknown>,
): Promise<{ ms: number; error: unknown }> {
  const error = running.then(
    () => "no failure",
    (reason: unknown) => reason,
  );
  const startedAtMs = runtime.nowMs;
  await runtime.passUntil(error);
  return { ms: runtime.nowMs - startedAtMs, error: await error };
}
