/**
 * A role whose default isolation is SERIALIZABLE: statements that then fail with 40001 are tried
 * again, and no caller ever hears of it (case 26).
 */
import { randomBytes } from "node:crypto";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from "vitest";
import { type Store, createGuard } from "../../src/index.ts";
import { PostgresStore } from "../../src/stores/postgres/index.ts";
import { createProviderClient, startFakeProvider } from "../../src/testing/fake-provider/index.ts";
import { type PostgresDatabase, createDatabase } from "../support/postgres-database.ts";
import { armParams, claimParams, completeParams } from "../support/worker-params.ts";
import { workerRefund } from "../support/worker-tool.ts";
import { toldBy } from "../support/world.ts";

const serverUrl = inject("postgresUrl");

describe.skipIf(serverUrl === null)("with SERIALIZABLE as the role's default isolation", () => {
  const role = `strict_${randomBytes(6).toString("hex")}`;
  let database: PostgresDatabase;
  let url: string;
  let schemas = 0;

  beforeAll(async () => {
    database = await createDatabase(serverUrl ?? "");
    await asOwner(
      `create role ${role} login superuser password 'secret'`,
      `alter role ${role} set default_transaction_isolation = 'serializable'`,
    );
    const strict = new URL(database.url);
    strict.username = role;
    strict.password = "secret";
    url = strict.href;
  });
  afterAll(async () => {
    await asOwner(`drop owned by ${role} cascade`, `drop role ${role}`);
    await database.drop();
  });

  it("the setting reaches the store's statements", async () => {
    const [store] = await open(1);
    expect((await store?.inspect())?.settings).toMatchObject({
      default_transaction_isolation: "serializable",
    });
  });

  it("of forty claims on twenty connections one creates the key, and all are answered", async () => {
    const stores = await open(20);
    for (const key of ["a", "b", "c", "d", "e"]) {
      const claims = stores
        .flatMap((store) => [store, store])
        .map(async (store) => {
          const params = claimParams(key);
          return (await store.claim(params)).acquisitionId === params.acquisitionId;
        });
      expect((await Promise.all(claims)).filter(Boolean)).toEqual([true]);
    }
  });

  it("claim, arm, renew and complete of one key at the same time are all answered", async () => {
    const [store, ...others] = await open(6);
    if (store === undefined) return;
    const owner = await store.claim(claimParams("busy", { arm: false }));
    const answers = await Promise.all([
      ...others.slice(1).map((other) => other.claim(claimParams("busy"))),
      store.arm(armParams(owner)),
      others[0]?.complete(completeParams("busy")),
    ]);
    expect(answers).toHaveLength(6);
    expect(await store.read({ tenant: "acme", key: "busy" })).toMatchObject({ status: "DONE" });
  });

  it("of six guards that run one intent one executes it", async () => {
    const provider = await startFakeProvider();
    const client = createProviderClient({ url: provider.url });
    onTestFinished(async () => {
      client.close();
      await provider.close();
    });
    const refund = workerRefund(client, {});
    const stores = await open(6);
    const guards = await Promise.all(stores.map((store) => createGuard({ store })));
    const args = { orderId: "8812", amountMinor: 48_000 };
    const context = { tenant: "acme", onInProgress: { waitMs: 60_000 } };
    const answers = await Promise.all(
      guards.map((guard) => toldBy(guard.run(refund, args, context))),
    );
    expect(answers.map((answer) => answer.told).toSorted()).toEqual([
      "EXECUTED",
      ...Array.from({ length: 5 }, () => "REPLAYED"),
    ]);
    expect(provider.ledger()).toHaveLength(1);
  });

  it("several processes may migrate an empty database at once", async () => {
    const stores = await open(4, { migrated: false });
    const reports = await Promise.all(stores.map((store) => store.migrate()));
    expect(reports.flatMap((report) => report.applied)).toEqual([
      "0001-ledger",
      "0002-effects",
      "0003-late-looks",
      "0004-dead-letters",
    ]);
  });

  async function open(count: number, { migrated = true } = {}): Promise<Store[]> {
    schemas += 1;
    const stores = Array.from({ length: count }, () => {
      const pool = new pg.Pool({ connectionString: url, max: 2 });
      onTestFinished(() => pool.end());
      return new PostgresStore(pool, { schema: `s${schemas}` });
    });
    if (migrated) await stores[0]?.migrate();
    return stores;
  }

  async function asOwner(...statements: string[]): Promise<void> {
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    for (const statement of statements) await client.query(statement);
    await client.end();
  }
});
