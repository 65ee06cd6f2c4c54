/**
 * A rejected duplicate leaves no trace but a journal line (case 27), and a row without a deadline is
 * nobody's to take (case 28).
 */
import Database from "better-sqlite3";
import { expect, it } from "vitest";
import type { OperationRecord } from "../../src/index.ts";
import { type OpenStore, describeStores } from "../support/stores.ts";
import { claimParams } from "../support/worker-params.ts";
import { refundArgs, scenario } from "../support/world.ts";

scenario("rejected duplicates leave the owner's row as it is", {}, async (world) => {
  const { provider } = world;
  const otherAmount = { ...refundArgs, amountMinor: 1 };
  provider.fault({ gate: "in flight" });
  const owner = world.run();
  await provider.parked("in flight");
  const before = await world.row();
  const duplicates = [
    await world.run({ guard: await world.another() }),
    await world.run({ guard: await world.another(), args: otherAmount }),
    await world.run({ guard: await world.another() }),
  ];
  expect(duplicates.map((duplicate) => duplicate.told)).toEqual([
    "IN_PROGRESS",
    "PAYLOAD_MISMATCH",
    "IN_PROGRESS",
  ]);
  expect(withoutJournal(await world.row())).toEqual(withoutJournal(before));

  provider.release("in flight");
  expect((await owner).told).toBe("EXECUTED");
  const done = await world.row();
  const later = [await world.run(), await world.run({ args: otherAmount }), await world.run()];
  expect(later.map((duplicate) => duplicate.told)).toEqual([
    "REPLAYED",
    "PAYLOAD_MISMATCH",
    "REPLAYED",
  ]);
  expect(withoutJournal(await world.row())).toEqual(withoutJournal(done));
  const { key } = done;
  const lines = await world.opened.store.readJournal({
    tenant: "acme",
    key,
    after: null,
    limit: 100,
  });
  expect(lines.map((line) => line.event)).toEqual([
    "operation.claimed",
    "operation.armed",
    ...Array.from({ length: 3 }, () => "operation.repeated"),
    "operation.completed",
    ...Array.from({ length: 3 }, () => "operation.repeated"),
  ]);
  world.assertEffects(1);
});

scenario(
  "a legacy row without a deadline is opened for review, never taken over",
  {},
  async (world) => {
    const { provider, opened } = world;
    provider.fault({ gate: "in flight" });
    const owner = world.run();
    await provider.parked("in flight");
    await forgetLease(opened);
    world.advance(1_000_000_000);
    const guard = await world.another({ tools: [world.refund] });
    expect((await world.run({ guard })).told).toBe("RECORD_CORRUPT");
    expect(await guard.sweep()).toEqual([]);
    expect(await world.row()).toMatchObject({
      status: "IN_PROGRESS",
      incident: expect.stringContaining("lease"),
    });
    const inReview = { tenant: null, status: null, operation: null, review: true, limit: 10 };
    expect(await opened.store.list({ ...inReview, after: null })).toHaveLength(1);

    provider.release("in flight");
    await owner;
    world.assertEffects(1);
  },
);

describeStores("an operation without a deadline", (suite) => {
  it("can't be stored: neither claimed, nor made so later", async () => {
    const opened = await suite.open();
    const { store } = opened;
    const noLease = { leaseMs: null as unknown as number };
    await expect(store.claim(claimParams("k", noLease))).rejects.toThrow(/null/i);
    await store.claim(claimParams("other"));
    const forget = "update :schema.operations set lease_until_ms = null";
    await expect(opened.sql(forget)).rejects.toThrow(/null/i);
    expect(await opened.sql("select key from :schema.operations")).toEqual([{ key: "other" }]);
  });

  it("is not given to anybody by the take-over itself", async () => {
    const opened = await suite.open();
    const { token } = await opened.store.claim(claimParams("k"));
    await forgetLease(opened);
    const taker = { tenant: "acme", key: "k", token, acquisitionId: "b", leaseMs: 1, detail: "{}" };
    expect(await opened.store.takeOver(taker)).toBeUndefined();
  });
});

/** The row as far as a duplicate must not touch it: its place in the journal moves on. */
function withoutJournal(record: OperationRecord): Partial<OperationRecord> {
  const { journalSeq: _journal, readAtMs: _read, ...rest } = record;
  return rest;
}

/** Makes the deadlines null, as a schema without NOT NULL could have had them. */
async function forgetLease(opened: OpenStore): Promise<void> {
  if (opened.kind === "postgres") {
    await opened.sql("alter table :schema.operations alter column lease_until_ms drop not null");
    await opened.sql("update :schema.operations set lease_until_ms = null");
    return;
  }
  const database = new Database(opened.location);
  database.unsafeMode(true);
  const [{ schema_version: version }] = database.pragma("schema_version") as [
    { schema_version: number },
  ];
  database.exec(`
    pragma writable_schema = on;
    update sqlite_schema set sql = replace(sql, 'lease_until_ms integer not null', 'lease_until_ms integer')
      where name = 'nevertwice_operations';
    pragma schema_version = ${version + 1};
    pragma writable_schema = reset;
  `);
  database.close();
  await opened.sql("update :schema.operations set lease_until_ms = null");
}
