/**
 * Batches that lock the same rows in opposite orders: the database ends one of them, it is tried
 * again, and no caller hears of it (case 112).
 */
import pg from "pg";
import { expect, it, onTestFinished } from "vitest";
import type { Store } from "../../src/index.ts";
import { describeStores } from "../support/stores.ts";
import { claimParams, completeParams } from "../support/worker-params.ts";
import { ownStore } from "../support/worker-wrappers.ts";
import { refundArgs, scenario } from "../support/world.ts";

const keys = Array.from({ length: 60 }, (_, index) => `key-${index}`);

scenario(
  "two guards that run the same intents in opposite orders get one effect each",
  // A hundred and twenty calls at once take their time on a loaded machine.
  { contract: { timeoutMs: 30_000 } },
  async (world) => {
    const guards = [await world.another(), await world.another()];
    const orders = [keys, keys.toReversed()];
    const running = guards.flatMap((guard, index) =>
      (orders[index] ?? []).map((orderId) =>
        world.run({ guard, args: { ...refundArgs, orderId } }),
      ),
    );
    const told = new Set((await Promise.all(running)).map((answer) => answer.told));
    expect(
      [...told].filter((one) => !["EXECUTED", "REPLAYED", "IN_PROGRESS"].includes(one)),
    ).toEqual([]);
    expect((await world.rows()).map((row) => row.status)).toEqual(keys.map(() => "DONE"));
    world.assertEffects(keys.length);
  },
);

describeStores("claims and completions of the same keys in opposite orders", (suite) => {
  it("are all answered, and each key has one owner and one completion", async () => {
    const opened = await suite.open();
    const stores = [opened.store, await opened.again()];
    const orders = [keys, keys.toReversed()];
    const both = async <Result>(work: (store: Store, key: string) => Promise<Result>) =>
      Promise.all(
        stores.flatMap((store, index) => (orders[index] ?? []).map((key) => work(store, key))),
      );
    const claims = await both(async (store, key) => {
      const params = claimParams(key);
      return (await store.claim(params)).acquisitionId === params.acquisitionId;
    });
    expect(claims.filter(Boolean)).toHaveLength(keys.length);
    const completions = await both((store, key) => store.complete(completeParams(key)));
    expect(completions.filter((record) => record !== undefined)).toHaveLength(keys.length);
  });

  if (suite.kind === "sqlite") return;
  it.each(["claim", "complete"] as const)(
    "of which the database ends one %s as a deadlock, are answered after another try",
    async (what) => {
      const opened = await suite.open();
      let tries = 0;
      const own = ownStore(opened, { watch: () => void (tries += 1) });
      const client = new pg.Client({ connectionString: opened.location });
      onTestFinished(async () => {
        await client.end();
        await own.close();
      });
      await client.connect();
      const run = (key: string): Promise<unknown> =>
        what === "claim"
          ? own.store.claim(claimParams(key))
          : own.store.complete(completeParams(key));
      for (const key of ["a", "b", "first"]) await opened.store.claim(claimParams(key));

      await client.query("begin");
      // The other side is not to be the one that the database ends.
      await client.query("set local deadlock_timeout = '1h'");
      const lock = (key: string) =>
        client.query(`update "${opened.schema}".operations set sweeps = 7 where key = $1`, [key]);
      await lock("b");
      // While the first is under way the other two wait, and go out as one statement.
      const running = Promise.all(["first", "a", "b"].map(run));
      const waiting =
        "select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()";
      await expect.poll(() => opened.sql(waiting)).toHaveLength(1);
      expect(tries).toBe(2);
      const locking = lock("a");
      await Promise.race([locking, running]);
      await locking;
      await client.query("commit");

      const records = await running;
      expect(records).toEqual([
        expect.objectContaining({ key: "first" }),
        expect.objectContaining({ key: "a", sweeps: 7 }),
        expect.objectContaining({ key: "b", sweeps: 7 }),
      ]);
      expect(tries).toBeGreaterThan(2);
    },
  );
});
