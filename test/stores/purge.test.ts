/**
 * Purging, where the row itself was tampered with (R23). How purging goes otherwise is in the store
 * contract.
 */
import { expect, it } from "vitest";
import { days } from "../../src/index.ts";
import { TestClock, describeStores } from "../support/stores.ts";
import { operationIn, stored, withIncident } from "../support/worker-operations.ts";

describeStores("purging", (suite) => {
  it("never touches what is open, not even where a time of settling has got into the row", async () => {
    const clock = new TestClock();
    const opened = await suite.open({ clock });
    const { store } = opened;
    for (const status of ["IN_PROGRESS", "UNKNOWN", "NEEDS_REVIEW"] as const) {
      await operationIn(store, status, status);
      await withIncident(store, await operationIn(store, `flagged ${status}`, status));
    }
    await opened.sql("update :schema.operations set settled_at_ms = 1");
    clock.advance(days(3653));
    const before = await stored(opened);
    expect([await store.countPurgeable(), await store.purge({ limit: 1000 })]).toEqual([0, 0]);
    expect(await stored(opened)).toEqual(before);
  });
});
