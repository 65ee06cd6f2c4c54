/**
 * Fencing tokens come from one sequence for the whole database, one per acquisition (R9).
 */
import { expect, it } from "vitest";
import { TestClock, describeStores } from "../support/stores.ts";
import { operationIn, sure } from "../support/worker-operations.ts";
import { claimParams, completeParams, fencedBy, leaseMs } from "../support/worker-params.ts";

describeStores("the fencing token", (suite) => {
  it("rises with every acquisition, over all keys and statements", async () => {
    const clock = new TestClock();
    const { store } = await suite.open({ clock });
    const tokens: number[] = [];
    for (const key of ["z", "m", "a"]) {
      const unknown = await operationIn(store, key, "UNKNOWN");
      tokens.push(unknown.token);
      const taker = { ...fencedBy(unknown), acquisitionId: "b", leaseMs, detail: "{}" };
      const taken = sure(await store.takeOver(taker));
      tokens.push(taken.token);
      clock.advance(leaseMs);
      const again = { ...fencedBy(taken), acquisitionId: "c", leaseMs, detail: "{}" };
      tokens.push(sure(await store.takeOver(again)).token);
      await store.complete(completeParams(key));
    }
    expect(tokens).toEqual(tokens.toSorted((one, other) => one - other));
    expect(new Set(tokens).size).toBe(tokens.length);
  });

  it("is another for each key of a batch, and for each that follows", async () => {
    const { store } = await suite.open();
    const keys = Array.from({ length: 300 }, (_, index) => `key-${index}`);
    const batch = await Promise.all(keys.map((key) => store.claim(claimParams(key))));
    // Duplicates in between must not make the numbers meet.
    const mixed = [...keys.slice(0, 100), ...keys.map((key) => `new-${key}`)];
    const second = await Promise.all(mixed.map((key) => store.claim(claimParams(key))));
    const fresh = second.filter((record) => record.key.startsWith("new-"));
    const tokens = [...batch, ...fresh].map((record) => record.token);
    expect(new Set(tokens).size).toBe(600);
    const highest = Math.max(...batch.map((record) => record.token));
    expect(Math.min(...fresh.map((record) => record.token))).toBeGreaterThan(highest);
  });

  it("is never the same in two connections that acquire at the same time", async () => {
    const clock = new TestClock();
    const opened = await suite.open({ clock });
    const stores = [opened.store, await opened.again(), await opened.again()];
    const keys = Array.from({ length: 40 }, (_, index) => `key-${index}`);
    const claims = stores.flatMap((store, place) =>
      keys.map((key) => store.claim(claimParams(`${key}-${place}`))),
    );
    const claimed = await Promise.all(claims);
    clock.advance(leaseMs);
    const takeOvers = claimed.map(async (seen, index) => {
      const taker = { ...fencedBy(seen), acquisitionId: "b", leaseMs, detail: "{}" };
      return (stores[index % stores.length] ?? opened.store).takeOver(taker);
    });
    const taken = (await Promise.all(takeOvers)).map((record) => sure(record).token);
    const tokens = [...claimed.map((record) => record.token), ...taken];
    expect(new Set(tokens).size).toBe(tokens.length);
    const highest = Math.max(...claimed.map((record) => record.token));
    expect(Math.min(...taken)).toBeGreaterThan(highest);
  });

  it("of a duplicate's attempt is not the row's: the owner keeps its own", async () => {
    const { store } = await suite.open();
    const owner = await store.claim(claimParams("k"));
    const duplicates = [await store.claim(claimParams("k")), await store.claim(claimParams("k"))];
    expect(duplicates.map((duplicate) => duplicate.token)).toEqual([owner.token, owner.token]);
  });

  it("belongs to one of several takers that saw the same row", async () => {
    const opened = await suite.open();
    const seen = await operationIn(opened.store, "k", "UNKNOWN");
    const stores = await Promise.all(Array.from({ length: 6 }, () => opened.again()));
    const takers = stores.map((store, index) =>
      store.takeOver({ ...fencedBy(seen), acquisitionId: `${index}`, leaseMs, detail: "{}" }),
    );
    const won = (await Promise.all(takers)).filter((record) => record !== undefined);
    expect(won).toHaveLength(1);
    expect(await opened.store.read({ tenant: "acme", key: "k" })).toMatchObject({
      token: won[0]?.token,
      acquisitionId: won[0]?.acquisitionId,
    });
  });
});
