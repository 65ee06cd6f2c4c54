/**
 * A person's decision about a row that can't be read (R23, R30). What else may be decided is in the
 * store contract.
 */
import { expect, it } from "vitest";
import { findRecordFault } from "../../src/ledger/record.ts";
import { TestClock, describeStores } from "../support/stores.ts";
import { operationIn, sure, withIncident } from "../support/worker-operations.ts";
import { resolveParams } from "../support/worker-params.ts";

describeStores("a decision about a row that can't be read", (suite) => {
  it("takes the place of what is damaged", async () => {
    const opened = await suite.open({ clock: new TestClock() });
    const done = await operationIn(opened.store, "k", "DONE");
    const seen = await withIncident(opened.store, done);
    await opened.sql("update :schema.operations set arguments = '[', result = '['");
    const repaired = sure(await opened.store.resolve(resolveParams(seen, { repair: true })));
    expect(repaired).toMatchObject({
      status: "DONE",
      result: '{"id":"by-hand"}',
      arguments: "{}",
      token: seen.token,
      incident: null,
    });
    expect(findRecordFault(repaired)).toBeUndefined();
  });
});
