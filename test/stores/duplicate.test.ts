/**
 * What the store contract can't see through the port: a duplicate touches no other column of the row
 * (R12).
 */
import { expect, it } from "vitest";
import { statuses } from "../../src/ledger/status.ts";
import { TestClock, describeStores } from "../support/stores.ts";
import { linesOf, operationIn } from "../support/worker-operations.ts";
import { claimParams } from "../support/worker-params.ts";

describeStores("a duplicate", (suite) => {
  it.each(statuses)(
    "a claim of a key that is %s changes its place in the journal only",
    async (status) => {
      const opened = await suite.open({ clock: new TestClock() });
      const before = await operationIn(opened.store, "k", status);
      const [row] = await opened.sql("select * from :schema.operations");
      const other = claimParams("k", {
        fingerprint: "other",
        arm: false,
        leaseMs: 1,
        wireKey: "x",
      });
      const met = await opened.store.claim(other);
      expect(met).toEqual({ ...before, journalSeq: before.journalSeq + 1 });
      const [after] = await opened.sql("select * from :schema.operations");
      const changed = Object.keys(row ?? {}).filter((name) => row?.[name] !== after?.[name]);
      expect(changed.toSorted()).toEqual(["event", "journal_seq"].toSorted());
      expect((await linesOf(opened.store, "k")).at(-1)).toMatchObject({
        event: "operation.repeated",
        status,
      });
    },
  );
});
