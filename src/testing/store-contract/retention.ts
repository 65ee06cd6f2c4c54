/**
 * Cases of purging.
 *
 * @module
 */
import { decide } from "../../ledger/decide.ts";
import { findChainFault } from "../../ledger/journal.ts";
import type { Store } from "../../ledger/store.ts";
import { storeCase } from "./case.ts";
import {
  claimParams,
  completeParams,
  incidentParams,
  made,
  operationIn,
  resolveParams,
  retentionMs,
  withIncident,
} from "./params.ts";

const tenYearsMs = 10 * 365 * 24 * 3_600_000;

/** What a purge would do, and does. */
async function purge(store: Store, limit = 1000): Promise<readonly [number, number]> {
  return [await store.countPurgeable(), await store.purge({ limit })];
}

/** Purging empties what is settled and old, and leaves a tombstone (R23). */
export const retention = [
  storeCase(
    "a purged operation stays as a tombstone that keeps identity and outcome",
    { rule: "R23", fault: "purge deletes the row", needsClock: true },
    async (scene) => {
      for (const status of ["DONE", "FAILED"] as const) {
        const settled = await operationIn(scene.store, status, status, { lookAlike: "mark" });
        await scene.advance(retentionMs + 1);
        scene.is("purgeable and purged", await purge(scene.store), [1, 1]);
        const { readAtMs: _, ...kept } = settled;
        const tombstone = scene.has(`the tombstone, ${status}`, await scene.row(settled), {
          ...kept,
          arguments: null,
          resultKind: null,
          result: null,
          error: null,
          lookAlike: null,
          purgedAtMs: (settled.settledAtMs ?? 0) + retentionMs + 1,
          version: settled.version + 1,
          journalSeq: settled.journalSeq + 1,
        });
        scene.is("what is left to purge", await purge(scene.store), [0, 0]);
        const lines = await scene.lines(status);
        const last = { event: lines.at(-1)?.event, status: lines.at(-1)?.status };
        scene.is("the journal's last line", last, { event: "operation.purged", status });
        scene.is("a fault in the chain", findChainFault(lines), undefined);
        scene.is("lines", lines.length, tombstone.journalSeq);
      }
    },
  ),
  storeCase(
    "a tombstone still answers: a late claim meets it, and it is not the claim's",
    { rule: "R23", fault: "tombstone is a free key", needsClock: true },
    async (scene) => {
      for (const status of ["DONE", "FAILED"] as const) {
        const settled = await operationIn(scene.store, status, status);
        await scene.advance(retentionMs + 1);
        await purge(scene.store);
        const late = claimParams(status);
        const met = await scene.store.claim(late);
        scene.has("the row that the claim meets", met, {
          status,
          acquisitionId: settled.acquisitionId,
          token: settled.token,
          attempts: settled.attempts,
        });
        scene.is("what is decided about it", decide(met, late), { kind: "expired" });
      }
    },
  ),
  storeCase(
    "a tombstone is settled: success writes nothing, and can be flagged",
    { rule: "R14", fault: "tombstone comes alive", needsClock: true },
    async (scene) => {
      await operationIn(scene.store, "key", "FAILED");
      await scene.advance(retentionMs + 1);
      await purge(scene.store);
      await scene.refuses("success", () => scene.store.complete(completeParams("key")));
      const flagged = await scene.store.recordIncident(incidentParams("key"));
      scene.has("the flagged tombstone", flagged, { status: "FAILED", incident: "another effect" });
    },
  ),
  storeCase(
    "nothing is purged in the last millisecond of its retention, and each has its own",
    { rule: "R23", fault: "purged too early", needsClock: true },
    async (scene) => {
      await operationIn(scene.store, "key", "DONE");
      await operationIn(scene.store, "longer", "DONE", { retentionMs: retentionMs * 10 });
      await scene.advance(retentionMs);
      scene.is("purgeable and purged", await purge(scene.store), [0, 0]);
      await scene.advance(1);
      scene.is("purgeable and purged a moment later", await purge(scene.store), [1, 1]);
      const kept = await scene.store.read({ tenant: "acme", key: "longer" });
      scene.has("the one that is kept longer", kept, { purgedAtMs: null });
    },
  ),
  storeCase(
    "what is open or in review is never purged, however old it is",
    { rule: "R23", fault: "open operation purged", needsClock: true },
    async (scene) => {
      for (const status of ["IN_PROGRESS", "UNKNOWN", "NEEDS_REVIEW"] as const) {
        await operationIn(scene.store, status, status);
        await withIncident(
          scene.store,
          await operationIn(scene.store, `flagged ${status}`, status),
        );
      }
      await scene.store.claim(claimParams("never sent", { arm: false }));
      await scene.advance(tenYearsMs);
      const before = await scene.stored();
      scene.is("purgeable and purged", await purge(scene.store), [0, 0]);
      scene.is("what is stored", await scene.stored(), before);
    },
  ),
  storeCase(
    "what is settled and flagged is not purged until a person has looked at it",
    { rule: "R23", fault: "incident purged", needsClock: true },
    async (scene) => {
      for (const status of ["DONE", "FAILED"] as const) {
        await withIncident(scene.store, await operationIn(scene.store, status, status));
      }
      await scene.advance(tenYearsMs);
      const before = await scene.stored();
      scene.is("purgeable and purged", await purge(scene.store), [0, 0]);
      scene.is("what is stored", await scene.stored(), before);
    },
  ),
  storeCase(
    "the retention of what a person decided counts from the decision",
    { rule: "R23", fault: "retention from the claim", needsClock: true },
    async (scene) => {
      const waiting = await operationIn(scene.store, "key", "NEEDS_REVIEW");
      await scene.advance(tenYearsMs);
      made("resolve", await scene.store.resolve(resolveParams(waiting)));
      scene.is("purgeable and purged", await purge(scene.store), [0, 0]);
      await scene.advance(retentionMs + 1);
      scene.is("purgeable and purged later", await purge(scene.store), [1, 1]);
    },
  ),
  storeCase(
    "a purge keeps to its limit and begins with what was settled first",
    { rule: "R23", fault: "purge limit or order", needsClock: true },
    async (scene) => {
      for (const key of ["c", "a", "b"]) {
        await operationIn(scene.store, key, "DONE");
        await scene.advance(1);
      }
      await scene.advance(retentionMs);
      const isPurged = async (key: string): Promise<boolean> =>
        (await scene.row({ tenant: "acme", key })).purgedAtMs !== null;
      scene.is("purgeable and purged", await purge(scene.store, 2), [3, 2]);
      const purged = [await isPurged("c"), await isPurged("a"), await isPurged("b")];
      scene.is("which of c, a and b are purged", purged, [true, true, false]);
      scene.is("purgeable and purged next", await purge(scene.store, 2), [1, 1]);
    },
  ),
  storeCase(
    "a claim that races a purge meets the result or the tombstone, never a free key",
    { rule: "R23", fault: "purge races claim", needsClock: true },
    async (scene) => {
      const keys = Array.from({ length: 12 }, (_, at) => `key-${at}`);
      for (const key of keys) await operationIn(scene.store, key, "DONE");
      await scene.advance(retentionMs + 1);
      const claimer = await scene.another();
      const claimOne = async (key: string): Promise<void> => {
        const claim = claimParams(key);
        const { kind } = decide(await claimer.claim(claim), claim);
        scene.holds(`${key} is replayed or expired`, kind === "replay" || kind === "expired");
      };
      const purger = { store: await scene.another(), isAtWork: true };
      const claimAll = async (): Promise<void> => {
        while (purger.isAtWork) await Promise.all(keys.map(claimOne));
      };
      const purgeAll = async (): Promise<number> => {
        let sum = 0;
        for (const _ of keys) sum += await purger.store.purge({ limit: 1 });
        return sum;
      };
      const purging = purgeAll().finally(() => (purger.isAtWork = false));
      const [, purged] = await Promise.all([claimAll(), purging]);
      // A purge may pass over rows that a claim holds.
      const rest = await scene.store.purge({ limit: 100 });
      scene.is("how many operations were purged in all", purged + rest, keys.length);
      for (const key of keys) {
        scene.is("a fault in the chain", findChainFault(await scene.lines(key)), undefined);
      }
    },
  ),
  storeCase(
    "two purges at the same time purge each operation once",
    { rule: "R23", fault: "purged twice", needsClock: true },
    async (scene) => {
      for (const at of Array.from({ length: 30 }, (_, place) => place)) {
        await operationIn(scene.store, `key-${at}`, "DONE");
      }
      await scene.advance(retentionMs + 1);
      const purgers = [await scene.another(), await scene.another()];
      const counts = await Promise.all(purgers.map((store) => store.purge({ limit: 30 })));
      const rest = await scene.store.purge({ limit: 30 });
      const sum = counts.reduce((total, count) => total + count, rest);
      scene.is("how many the purges count together", sum, 30);
      const whole = { tenant: null, key: null, after: null, limit: 1000 };
      const lines = await scene.store.readJournal(whole);
      const purged = lines.filter((line) => line.event === "operation.purged");
      scene.is("how many lines say so", purged.length, 30);
    },
  ),
];
