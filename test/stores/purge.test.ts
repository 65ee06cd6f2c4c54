/**
 * Purging empties what is settled and old, and leaves a tombstone; what is open is kept for ever
 * (R23).
 */
import { expect, it } from "vitest";
import { days } from "../../src/index.ts";
import { decide } from "../../src/ledger/decide.ts";
import { findChainFault } from "../../src/ledger/journal.ts";
import { TestClock, describeStores } from "../support/stores.ts";
import { linesOf, operationIn, stored, sure, withIncident } from "../support/worker-operations.ts";
import { claimParams, completeParams, resolveParams } from "../support/worker-params.ts";

const retentionMs = 1_000_000;

describeStores("purging", (suite) => {
  const start = async () => {
    const clock = new TestClock();
    const opened = await suite.open({ clock });
    return { clock, opened, store: opened.store };
  };

  it.each(["DONE", "FAILED"] as const)("leaves a tombstone of what is %s", async (status) => {
    const { clock, store } = await start();
    const settled = await operationIn(store, "k", status);
    clock.advance(retentionMs + 1);
    expect(await store.countPurgeable()).toBe(1);
    expect(await store.purge({ limit: 10 })).toBe(1);

    const tombstone = sure(await store.read({ tenant: "acme", key: "k" }));
    const { intent, fingerprint, token, attempts, wireKey, providerId } = settled;
    expect(tombstone).toMatchObject({
      status,
      intent,
      fingerprint,
      token,
      attempts,
      wireKey,
      providerId,
      purgedAtMs: clock.nowMs,
      settledAtMs: settled.settledAtMs,
      arguments: null,
      resultKind: null,
      result: null,
      error: null,
    });
    const lines = await linesOf(store, "k");
    expect(lines.at(-1)).toMatchObject({ event: "operation.purged", status });
    expect(findChainFault(lines)).toBeUndefined();

    const late = claimParams("k");
    const met = await store.claim(late);
    expect(met.acquisitionId).toBe(settled.acquisitionId);
    expect(decide(met, late)).toEqual({ kind: "expired" });
    expect([await store.countPurgeable(), await store.purge({ limit: 10 })]).toEqual([0, 0]);
  });

  it("waits until the last millisecond of the retention is over", async () => {
    const { clock, store } = await start();
    await operationIn(store, "k", "DONE");
    clock.advance(retentionMs);
    expect([await store.countPurgeable(), await store.purge({ limit: 10 })]).toEqual([0, 0]);
    clock.advance(1);
    expect([await store.countPurgeable(), await store.purge({ limit: 10 })]).toEqual([1, 1]);
  });

  it("never touches what is open, or flagged, however old it is", async () => {
    const { clock, opened, store } = await start();
    for (const status of ["IN_PROGRESS", "UNKNOWN", "NEEDS_REVIEW"] as const) {
      await operationIn(store, status, status);
      await withIncident(store, await operationIn(store, `flagged ${status}`, status));
    }
    await store.claim(claimParams("never sent", { arm: false }));
    await withIncident(store, await operationIn(store, "flagged DONE", "DONE"));
    await withIncident(store, await operationIn(store, "flagged FAILED", "FAILED"));
    // Not even where a time of settling has got into the row, by whatever way.
    const open = "status not in ('DONE', 'FAILED')";
    await opened.sql(`update :schema.operations set settled_at_ms = 1 where ${open}`);
    clock.advance(days(3653));
    const before = await stored(opened);
    expect([await store.countPurgeable(), await store.purge({ limit: 1000 })]).toEqual([0, 0]);
    expect(await stored(opened)).toEqual(before);
  });

  it("takes up what a person has decided, counted from the decision", async () => {
    const { clock, store } = await start();
    const waiting = await operationIn(store, "k", "NEEDS_REVIEW");
    clock.advance(days(3653));
    sure(await store.resolve(resolveParams(waiting)));
    expect(await store.purge({ limit: 10 })).toBe(0);
    clock.advance(retentionMs + 1);
    expect(await store.purge({ limit: 10 })).toBe(1);
  });

  it("keeps to its limit, oldest first, and to each operation's own retention", async () => {
    const { clock, store } = await start();
    for (const key of ["c", "a", "b"]) {
      await operationIn(store, key, "DONE");
      clock.advance(1);
    }
    await store.claim(claimParams("kept longer", { retentionMs: retentionMs * 10 }));
    await store.complete(completeParams("kept longer"));
    clock.advance(retentionMs + 1);
    expect(await store.countPurgeable()).toBe(3);
    const purged = async (key: string) =>
      (await store.read({ tenant: "acme", key }))?.purgedAtMs !== null;
    expect(await store.purge({ limit: 2 })).toBe(2);
    expect([await purged("c"), await purged("a"), await purged("b")]).toEqual([true, true, false]);
    expect(await store.purge({ limit: 2 })).toBe(1);
    expect(await purged("kept longer")).toBe(false);
  });

  it("frees no key: a claim that races it meets the result or the tombstone", async () => {
    const { clock, opened, store } = await start();
    const keys = Array.from({ length: 60 }, (_, index) => `key-${index}`);
    for (const key of keys) await operationIn(store, key, "DONE");
    clock.advance(retentionMs + 1);
    const [claimer, purger] = [await opened.again(), await opened.again()];
    const claims = keys.map((key) => claimParams(key));
    const purges = Array.from({ length: 12 }, () => purger.purge({ limit: 5 }));
    const claiming = claims.map((claim) => claimer.claim(claim));
    const [met, purged] = await Promise.all([Promise.all(claiming), Promise.all(purges)]);
    const decisions = met.map((record, index) => decide(record, claims[index] ?? claimParams("")));
    expect(decisions.filter(({ kind }) => kind !== "replay" && kind !== "expired")).toEqual([]);
    const late = await store.purge({ limit: 100 });
    expect(purged.reduce((sum, count) => sum + count, late)).toBe(keys.length);
    for (const key of keys) expect(findChainFault(await linesOf(store, key))).toBeUndefined();
  });

  it("by two purgers at once counts each operation once", async () => {
    const { clock, opened, store } = await start();
    const keys = Array.from({ length: 50 }, (_, index) => `key-${index}`);
    for (const key of keys) await operationIn(store, key, "DONE");
    clock.advance(retentionMs + 1);
    const purgers = [await opened.again(), await opened.again()];
    const counts = await Promise.all(purgers.map((purger) => purger.purge({ limit: 50 })));
    expect((counts[0] ?? 0) + (counts[1] ?? 0) + (await store.purge({ limit: 50 }))).toBe(50);
    const events = (await linesOf(store)).map((line) => line.event);
    expect(events.filter((event) => event === "operation.purged")).toHaveLength(50);
  });
});
