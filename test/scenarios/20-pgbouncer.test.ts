/**
 * Everything about claims and leases again through pgbouncer: transaction pooling, two server
 * connections, no prepared statements. What leans on a session breaks here (case 37).
 */
import pg from "pg";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { createGuard, seconds } from "../../src/index.ts";
import { createProviderClient, startFakeProvider } from "../../src/testing/fake-provider/index.ts";
import { startWorker } from "../support/processes.ts";
import { openPostgres } from "../support/stores.ts";
import { claimParams } from "../support/worker-params.ts";
import { openPlace, placeOf } from "../support/worker-place.ts";
import { isPoolerMissing, pooledServer } from "../support/worker-pooled-stores.ts";
import type { StoreCommands } from "../support/worker-store.ts";
import { workerRefund } from "../support/worker-tool.ts";
import { toldBy } from "../support/world.ts";

vi.mock("../support/stores.ts", async (importOriginal) => {
  const original = await importOriginal<typeof import("../support/stores.ts")>();
  const pooled = await import("../support/worker-pooled-stores.ts");
  const server = pooled.pooledServer(2);
  const describeStores: typeof original.describeStores = (title, define) =>
    pooled.describePooledStores(server, original.openPostgres, title, define);
  return { ...original, describeStores };
});

await import("./00-opening-story.test.ts");
await import("./20-claim.test.ts");
await import("./20-deadlock.test.ts");
await import("./20-duplicate.test.ts");
await import("./20-expired-lease.test.ts");
await import("./20-lease.test.ts");
await import("./20-winner.test.ts");

describe.skipIf(isPoolerMissing())("behind pgbouncer with a single server connection", () => {
  const server = pooledServer(1);

  it("twenty calls on a pool of one connection are all answered while one waits", async () => {
    const opened = await openPostgres(server().url, { poolSize: 1 });
    const provider = await startFakeProvider();
    const client = createProviderClient({ url: provider.url });
    onTestFinished(async () => {
      client.close();
      await provider.close();
      await opened.close();
    });
    const refund = workerRefund(client, {});
    const guard = await createGuard({ store: opened.store });
    const call = (orderId: string, onInProgress?: { waitMs: number }) =>
      toldBy(
        guard.run(
          refund,
          { orderId, amountMinor: 1 },
          { tenant: "acme", ...(onInProgress && { onInProgress }) },
        ),
      );
    provider.fault({ gate: "first" });
    const first = call("8812");
    await provider.parked("first");
    const waiting = call("8812", { waitMs: seconds(60) });
    const others = await Promise.all(Array.from({ length: 20 }, (_, index) => call(`${index}`)));
    expect(new Set(others.map((answer) => answer.told))).toEqual(new Set(["EXECUTED"]));
    provider.release("first");
    expect([(await first).told, (await waiting).told]).toEqual(["EXECUTED", "REPLAYED"]);
    expect(provider.ledger()).toHaveLength(21);
  });

  it("of a client that was killed in mid-statement no lock stays", async () => {
    const opened = await openPostgres(server().directUrl);
    const [watcher, blocker] = [
      await connect(server().directUrl),
      await connect(server().directUrl),
    ];
    onTestFinished(async () => {
      await watcher.end();
      await blocker.end();
      await opened.close();
    });
    await opened.store.claim(claimParams("k"));
    await blocker.query("begin");
    await blocker.query(`update "${opened.schema}".operations set sweeps = 1`);
    const worker = await startWorker<StoreCommands>("worker-store.ts");
    await worker.call("open", { place: { ...placeOf(opened), location: server().url } });
    void worker.call("claim", { keys: ["k", "l"], copies: 1, together: 2 });
    const waiters =
      "select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()";
    await expect.poll(async () => (await watcher.query(waiters)).rows).toHaveLength(1);
    await worker.kill();
    await blocker.query("rollback");

    const held = `select locktype, mode from pg_locks
      where database = (select oid from pg_database where datname = current_database()) and pid <> pg_backend_pid()`;
    await expect.poll(async () => (await watcher.query(held)).rows).toEqual([]);
    const next = openPlace({ ...placeOf(opened), location: server().url }, 1);
    expect(await next.claim(claimParams("k"))).toMatchObject({ key: "k", sweeps: 0 });
  });
});

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  return client;
}
