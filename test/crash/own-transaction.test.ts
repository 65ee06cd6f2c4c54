/**
 * A caller with a transaction of its own: rolling it back takes neither the claim nor the outcome with
 * it, for the guard writes on a connection of its own (case 111; R7).
 */
import Database from "better-sqlite3";
import pg from "pg";
import { expect, it, onTestFinished } from "vitest";
import { createGuard } from "../../src/index.ts";
import { SqliteStore } from "../../src/stores/sqlite/index.ts";
import { createProviderClient, startFakeProvider } from "../../src/testing/fake-provider/index.ts";
import { type OpenStore, openSqlite } from "../support/stores.ts";
import { scenario, toldBy } from "../support/world.ts";
import { refundOf, refundTool } from "./tool.ts";

/** A foreign program's connection to the same database, with a transaction open. */
interface Transaction {
  rollBack(): Promise<void>;
}

async function begin({ kind, location }: OpenStore): Promise<Transaction> {
  if (kind === "sqlite") {
    const database = new Database(location);
    onTestFinished(() => void database.close());
    database.exec("begin; select count(*) from nevertwice_operations");
    return { rollBack: async () => void database.exec("rollback") };
  }
  const client = new pg.Client({ connectionString: location });
  onTestFinished(() => client.end());
  await client.connect();
  await client.query("begin");
  await client.query("create table orders_of_ours (id text)");
  return { rollBack: async () => void (await client.query("rollback")) };
}

scenario(
  "a caller that rolls its transaction back, after a call in it, is told what that call did",
  {},
  async (world) => {
    const transaction = await begin(world.opened);
    const first = await world.run();
    await transaction.rollBack();
    const second = await world.run();
    expect([first.told, second.told]).toEqual(["EXECUTED", "REPLAYED"]);
    expect((await world.row()).status).toBe("DONE");
    world.assertEffects(1);
  },
);

scenario(
  "an operation that throws in a caller's transaction keeps its row when that is rolled back",
  {},
  async (world) => {
    world.provider.fault({ dropReplyAfterCommit: true });
    const transaction = await begin(world.opened);
    const first = await world.run();
    await transaction.rollBack();
    expect(first.told).toBe("OUTCOME_UNKNOWN");
    expect((await world.row()).status).toBe("UNKNOWN");
    expect((await world.run()).told).toBe("REPLAYED");
    world.assertEffects(1);
  },
);

it("a SQLite connection with the caller's transaction open is refused, and nothing is sent", async () => {
  const opened = await openSqlite();
  const provider = await startFakeProvider();
  const client = createProviderClient({ url: provider.url });
  const database = new Database(opened.location);
  onTestFinished(async () => {
    database.close();
    client.close();
    await provider.close();
    await opened.close();
  });
  const guard = await createGuard({ store: new SqliteStore(database) });
  const tool = refundTool(client, "keyed", 1);
  const run = () => toldBy(guard.run(tool, refundOf(1), { tenant: "acme" }));

  database.exec("begin");
  const first = await run();
  expect(first.told).toBe("STORE_UNAVAILABLE");
  expect(database.inTransaction).toBe(true);
  expect(provider.arrivals()).toEqual([]);
  database.exec("rollback");
  expect((await run()).told).toBe("EXECUTED");
  expect(provider.ledger()).toHaveLength(1);
});
