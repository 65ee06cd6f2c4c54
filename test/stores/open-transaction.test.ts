/**
 * What is called inside a transaction of a store is refused at once, also when other calls of the
 * same store are under way whose batch it could join (R7).
 */
import { expect, it } from "vitest";
import { describeStores } from "../support/stores.ts";
import { claimParams } from "../support/worker-params.ts";

describeStores("an open transaction", (suite) => {
  it("refuses the store's own statements, and lets those of others go on after it", async () => {
    const { store } = await suite.open();
    const refused = { code: "TRANSACTION_OPEN" };
    let others: Promise<unknown>[] = [];
    let begin = (): void => {};
    const begun = new Promise<void>((resolve) => {
      begin = resolve;
    });
    const work = store.transaction(async () => {
      begin();
      // Begun outside, below: their batch is under way or waits for this transaction.
      while (others.length === 0) await new Promise((resolve) => setImmediate(resolve));
      await expect(store.claim(claimParams("inside"))).rejects.toMatchObject(refused);
      await expect(store.read({ tenant: "acme", key: "k" })).rejects.toMatchObject(refused);
      await expect(store.transaction(() => 1)).rejects.toMatchObject(refused);
    });
    await begun;
    others = [1, 2, 3].map((other) => store.claim(claimParams(`outside-${other}`)));
    await work;
    expect(await Promise.all(others)).toHaveLength(3);
    expect(await store.read({ tenant: "acme", key: "inside" })).toBeUndefined();
    expect(await store.transaction(() => "again")).toBe("again");
  });
});
