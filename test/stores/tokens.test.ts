/**
 * Fencing tokens of a batch come from the one sequence of the database, one per acquisition (R9). How
 * they rise otherwise is in the store contract.
 */
import { expect, it } from "vitest";
import { describeStores } from "../support/stores.ts";
import { claimParams } from "../support/worker-params.ts";

describeStores("the fencing token", (suite) => {
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
});
