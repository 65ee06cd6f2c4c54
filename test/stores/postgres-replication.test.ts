/**
 * A write that PostgreSQL acknowledges with a warning may be lost in a failover: nothing is sent on
 * its strength (R27). Acted out with a faked warning, and with a real server whose standby never came.
 */
import pg from "pg";
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from "vitest";
import type { Runtime } from "../../src/base/runtime.ts";
import { createGuard } from "../../src/index.ts";
import { type PostgresPool, PostgresStore } from "../../src/stores/postgres/index.ts";
import { createProviderClient, startFakeProvider } from "../../src/testing/fake-provider/index.ts";
import { type PostgresServer, startPostgres } from "../support/postgres-server.ts";
import { type PostgresDatabase, createDatabase } from "../support/postgres-database.ts";
import { linesOf } from "../support/worker-operations.ts";
import { armParams, claimParams, fencedBy } from "../support/worker-params.ts";
import { type WorkerContract, workerRefund } from "../support/worker-tool.ts";
import { ManualRuntime, clientWith } from "../support/worker-wrappers.ts";
import { toldBy } from "../support/world.ts";

const args = { orderId: "8812", amountMinor: 48_000 };

/** A provider, and the tool that calls it. */
async function downstream(contract: WorkerContract) {
  const provider = await startFakeProvider();
  const client = createProviderClient({ url: provider.url });
  onTestFinished(async () => {
    client.close();
    await provider.close();
  });
  return { provider, refund: workerRefund(client, contract) };
}

describe.skipIf(inject("postgresUrl") === null)("a warning beside an acknowledged write", () => {
  let database: PostgresDatabase;
  let pool: pg.Pool;
  beforeAll(async () => {
    database = await createDatabase(inject("postgresUrl") ?? "");
    pool = new pg.Pool({ connectionString: database.url, max: 2 });
    pool.on("error", () => {});
    await new PostgresStore(pool).migrate();
  });
  afterAll(async () => {
    await pool.end();
    await database.drop();
  });

  /** A pool whose answers to statements like this come with a notice. */
  const warning = (like: RegExp, notice: { code: string; message: string }): PostgresPool => ({
    connect: async () => {
      const client = await pool.connect();
      return clientWith(client, {
        query: async (query) => {
          const result = await client.query(query);
          if (like.test(query.text)) client.emit("notice", notice);
          return result;
        },
      });
    },
  });
  const cancelled = {
    code: "01000",
    message: "canceling wait for synchronous replication due to user request",
  };

  it.each<[string, RegExp, WorkerContract]>([
    ["a claim", /insert into/, {}],
    ["the arm of a strict tool", /attempts = o\.attempts \+ 1/, { mode: "strict", keyed: false }],
  ])("on %s stops the call, and nothing is sent", async (what, like, contract) => {
    const { provider, refund } = await downstream(contract);
    const unsafe = await createGuard({ store: new PostgresStore(warning(like, cancelled)) });
    const guard = await createGuard({ store: new PostgresStore(pool) });
    const context = { tenant: what };
    const first = await toldBy(unsafe.run(refund, args, context));
    expect([first.told, String(first.error)]).toEqual([
      "STORE_UNSAFE",
      expect.stringContaining(cancelled.message),
    ]);
    expect(provider.arrivals()).toEqual([]);
    const second = await toldBy(guard.run(refund, args, context));
    expect(second.told).toBe("IN_PROGRESS");
    expect(provider.ledger()).toEqual([]);
  });

  it("on a take-over stops it, and nothing is looked up or sent", async () => {
    const { provider, refund } = await downstream({});
    const guard = await createGuard({ store: new PostgresStore(pool) });
    provider.fault({ failBeforeCommit: true });
    const context = { tenant: "take-over" };
    expect((await toldBy(guard.run(refund, args, context))).told).toBe("OUTCOME_UNKNOWN");
    const pools = warning(/'operation\.taken-over'/, cancelled);
    const unsafe = await createGuard({ store: new PostgresStore(pools) });
    expect((await toldBy(unsafe.run(refund, args, context))).told).toBe("STORE_UNSAFE");
    expect([provider.arrivals().length, provider.lookUps().length]).toEqual([1, 0]);
  });

  it("that a completion comes with doesn't hide the effect, which is found again", async () => {
    const { provider, refund } = await downstream({});
    const pools = warning(/status = 'DONE'/, cancelled);
    const unsafe = await createGuard({ store: new PostgresStore(pools) });
    const context = { tenant: "completion" };
    const first = await unsafe.run(refund, args, context);
    expect(first).toMatchObject({ recorded: false });
    const guard = await createGuard({ store: new PostgresStore(pool) });
    expect((await guard.run(refund, args, context)).value).toEqual(first.value);
    expect(provider.ledger()).toHaveLength(1);
  });

  it("is told apart from a notice that warns of nothing", async () => {
    const chatty = { code: "00000", message: "a trigger says hello" };
    const store = new PostgresStore(warning(/./, chatty));
    const owner = await store.claim(claimParams("chatty", { arm: false }));
    expect(await store.arm(armParams(owner))).toMatchObject({ attempts: 1 });
  });

  it("leaves no listener behind on the connections of the pool", async () => {
    const store = new PostgresStore(pool);
    for (let turn = 0; turn < 20; turn += 1) await store.claim(claimParams("listeners"));
    const client = await pool.connect();
    const left = client.listenerCount("notice");
    client.release();
    expect(left).toBe(0);
  });
});

const isForeignServer = Boolean(process.env["NEVERTWICE_TEST_POSTGRES_URL"]);

describe.skipIf(inject("postgresUrl") === null || isForeignServer)(
  "a server of its own, whose settings are played with",
  () => {
    let server: PostgresServer;
    let owner: pg.Client;
    beforeAll(async () => {
      server = await startPostgres();
      owner = new pg.Client({ connectionString: server.url });
      await owner.connect();
      // The owner's own words must not wait for the standby that never comes.
      await owner.query("set synchronous_commit = local");
    });
    afterAll(async () => {
      await owner.end();
      await server.stop();
    });

    const set = async (name: string, value: string): Promise<void> => {
      await owner.query(`alter system set ${name} = ${value}`);
      await owner.query("select pg_reload_conf()");
      const shown = async (): Promise<unknown> => {
        const { rows } = await owner.query(`select current_setting($1) as value`, [name]);
        return (rows[0] as { value: string }).value;
      };
      await expect.poll(shown).toBe(value.replaceAll("'", ""));
    };
    const open = async (
      schema: string,
      options: { statementTimeoutMs?: number; runtime?: Runtime } = {},
    ): Promise<PostgresStore> => {
      const pool = new pg.Pool({ connectionString: server.url, max: 2 });
      pool.on("error", () => {});
      onTestFinished(() => pool.end());
      const store = new PostgresStore(pool, { schema, ...options });
      await store.migrate();
      return store;
    };
    const waiting = "from pg_stat_activity where wait_event = 'SyncRep'";
    const whenWaiting = async (): Promise<void> => {
      await expect
        .poll(async () => (await owner.query(`select 1 ${waiting}`)).rows)
        .toHaveLength(1);
    };

    it("that cancels the wait for a standby is not believed, and nothing is sent", async () => {
      const store = await open("cancelled");
      const guard = await createGuard({ store });
      const { provider, refund } = await downstream({});
      await set("synchronous_standby_names", "'nobody'");
      const running = toldBy(guard.run(refund, args, { tenant: "acme" }));
      await whenWaiting();
      expect(provider.arrivals()).toEqual([]);
      await owner.query(`select pg_cancel_backend(pid) ${waiting}`);
      const answer = await running;
      await set("synchronous_standby_names", "''");
      expect([answer.told, String(answer.error)]).toEqual([
        "STORE_UNSAFE",
        expect.stringContaining("synchronous replication"),
      ]);
      expect(provider.arrivals()).toEqual([]);
      // The server had written it down, and says so to whoever asks now.
      const [claimed] = await linesOf(store);
      expect(claimed).toMatchObject({ event: "operation.claimed" });
    });

    it("that waits for its standby for ever is unavailable within the limit", async () => {
      const runtime = new ManualRuntime();
      const store = await open("waiting", { statementTimeoutMs: 1000, runtime });
      const guard = await createGuard({ store, runtime });
      const { provider, refund } = await downstream({});
      await set("synchronous_standby_names", "'nobody'");
      const running = toldBy(guard.run(refund, args, { tenant: "acme" }));
      await whenWaiting();
      await runtime.passUntil(running);
      expect((await running).told).toBe("STORE_UNAVAILABLE");
      expect(provider.arrivals()).toEqual([]);
      await set("synchronous_standby_names", "''");
      const { key, token } = (await linesOf(store))[0] ?? { key: "", token: 0 };
      const renewed = await store.renew({
        ...fencedBy({ tenant: "acme", key, token }),
        leaseMs: 1,
        detail: "{}",
      });
      expect(renewed).toMatchObject({ attempts: 1, status: "IN_PROGRESS" });
    });

    it.each([
      ["full_page_writes", "off", "full_page_writes=off"],
      ["synchronous_commit", "off", "synchronous_commit=off"],
    ])("with %s=%s is refused, unless it is accepted by that name", async (name, value, unsafe) => {
      await open("settings");
      const before = (await owner.query(`show ${name}`)).rows[0] as Record<string, string>;
      if (name !== "synchronous_commit") await set(name, value);
      else await owner.query(`alter database postgres set ${name} = ${value}`);
      const store = await open("settings");
      expect((await store.inspect()).unsafe).toEqual([unsafe]);
      await expect(createGuard({ store })).rejects.toMatchObject({
        code: "STORE_UNSAFE",
        details: { unsafe: [unsafe] },
      });
      await expect(createGuard({ store, accept: [unsafe] })).resolves.toBeDefined();
      if (name !== "synchronous_commit") await set(name, before[name] ?? "on");
      else await owner.query(`alter database postgres reset ${name}`);
    });

    it("with a standby to wait for is refused when it waits for itself only", async () => {
      await open("local");
      await set("synchronous_standby_names", "'nobody'");
      const pool = new pg.Pool({
        connectionString: server.url,
        options: "-c synchronous_commit=local",
        max: 1,
      });
      onTestFinished(() => pool.end());
      const store = new PostgresStore(pool, { schema: "local" });
      const { unsafe } = await store.inspect();
      await set("synchronous_standby_names", "''");
      expect(unsafe).toEqual(["synchronous_commit=local"]);
    });
  },
);
