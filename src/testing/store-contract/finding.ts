/**
 * Cases of lists, of what is due, and of look-alikes; and of the schema.
 *
 * @module
 */
import { statuses } from "../../ledger/status.ts";
import type { ListPlace } from "../../ledger/store.ts";
import { storeCase } from "./case.ts";
import {
  armParams,
  claimParams,
  fencedBy,
  leaseMs,
  made,
  operationIn,
  quietMs,
  takeOverParams,
  toolName,
  unknownParams,
  wholeList,
  withIncident,
} from "./params.ts";

const keysOf = (rows: readonly { readonly key: string }[]): readonly string[] =>
  rows.map((row) => row.key);

/** Whoever looks for operations finds all that are meant, and no other. */
export const finding = [
  storeCase(
    "findDue finds what is in doubt and nobody looks after, and nothing else",
    { rule: "R22", fault: "wrong operations due" },
    async (scene) => {
      const { store } = scene;
      const over = { leaseMs: 0 };
      await operationIn(store, "lease over", "IN_PROGRESS", over);
      await store.claim(claimParams("never sent", { arm: false, leaseMs: 0 }));
      await operationIn(store, "lease alive", "IN_PROGRESS");
      for (const status of ["NEEDS_REVIEW", "DONE", "FAILED"] as const) {
        await operationIn(store, status, status, over);
      }
      await operationIn(store, "other tool", "IN_PROGRESS", { ...over, tool: "other" });
      await withIncident(store, await operationIn(store, "flagged", "IN_PROGRESS", over));
      const due = await store.findDue({ tools: ["no tool", toolName], limit: 100 });
      scene.is("what is due", keysOf(due), ["lease over"]);
      const others = await store.findDue({ tools: ["other"], limit: 100 });
      scene.is("what is due of the other tool", keysOf(others), ["other tool"]);
      const none = await store.findDue({ tools: [], limit: 100 });
      scene.is("what is due of no tool", keysOf(none), []);
    },
  ),
  storeCase(
    "an operation in doubt is due when its time has come, not before",
    { rule: "R22", fault: "due too early or never", needsClock: true },
    async (scene) => {
      const owner = await operationIn(scene.store, "unknown", "IN_PROGRESS");
      const doubt = unknownParams(owner, { sweepAfterMs: leaseMs * 2 });
      made("markUnknown", await scene.store.markUnknown(doubt));
      await operationIn(scene.store, "leased", "IN_PROGRESS");
      const due = async () => keysOf(await scene.store.findDue({ tools: [toolName], limit: 10 }));
      await scene.advance(leaseMs - 1);
      scene.is("what is due while the lease is alive", await due(), []);
      await scene.advance(1);
      scene.is("what is due when the lease is over", await due(), ["leased"]);
      await scene.advance(leaseMs);
      scene.is("what is due in the end, the longest first", await due(), ["leased", "unknown"]);
      const first = await scene.store.findDue({ tools: [toolName], limit: 1 });
      scene.is("the first that is due", keysOf(first), ["leased"]);
    },
  ),
  storeCase(
    "an operation that was taken over, armed or renewed isn't due before the new lease is over",
    { rule: "R22", fault: "owner swept away", needsClock: true },
    async (scene) => {
      const { store } = scene;
      const long = { leaseMs: leaseMs * 3 };
      const unknown = await operationIn(store, "taken over", "UNKNOWN");
      made("takeOver", await store.takeOver(takeOverParams(unknown, long)));
      const armed = await operationIn(store, "armed", "IN_PROGRESS");
      made("arm", await store.arm(armParams(armed, long)));
      const renewed = await operationIn(store, "renewed", "IN_PROGRESS");
      const renew = { ...fencedBy(renewed), ...long, detail: "{}" };
      made("renew", await store.renew(renew));
      const due = async () => keysOf(await store.findDue({ tools: [toolName], limit: 10 }));
      await scene.advance(leaseMs * 3 - 1);
      scene.is("what is due while the leases are alive", await due(), []);
      await scene.advance(1);
      const all = (await due()).toSorted();
      scene.is("what is due when they are over", all, ["armed", "renewed", "taken over"]);
    },
  ),
  storeCase(
    "list tells the newest first and keeps to its limit",
    { rule: "R6", fault: "list order", needsClock: true },
    async (scene) => {
      for (const key of ["b", "c", "a"]) {
        await operationIn(scene.store, key, "DONE");
        await scene.advance(1);
      }
      scene.is("the list", keysOf(await scene.store.list(wholeList)), ["a", "c", "b"]);
      const page = await scene.store.list({ ...wholeList, limit: 2 });
      scene.is("the first page", keysOf(page), ["a", "c"]);
      const after = page.at(-1) ?? null;
      const next = await scene.store.list({ ...wholeList, limit: 2, after });
      scene.is("the next page", keysOf(next), ["b"]);
    },
  ),
  storeCase(
    "the pages of a list lose and repeat nothing of one millisecond",
    { rule: "R6", fault: "list pages by time alone", needsClock: true },
    async (scene) => {
      const named = ["a", "b", "c"].flatMap((key) => [
        { tenant: "acme", key },
        { tenant: "bravo", key },
      ]);
      for (const { tenant, key } of named) await scene.store.claim(claimParams(key, { tenant }));
      const paged: string[] = [];
      let after: ListPlace | null = null;
      for (let pages = 0; pages <= named.length; pages += 1) {
        const page = await scene.store.list({ ...wholeList, tenant: null, limit: 2, after });
        paged.push(...page.map(({ tenant, key }) => `${tenant} ${key}`));
        const last = page.at(-1);
        if (last === undefined) break;
        after = { createdAtMs: last.createdAtMs, tenant: last.tenant, key: last.key };
      }
      const all = named.map(({ tenant, key }) => `${tenant} ${key}`);
      scene.is("what the pages hold", paged.toSorted(), all.toSorted());
    },
  ),
  storeCase(
    "list filters by status and operation, and by both",
    { rule: "R6", fault: "list filter" },
    async (scene) => {
      for (const status of statuses) {
        for (const operation of ["refund", "payout"]) {
          await operationIn(scene.store, `${operation} ${status}`, status, { operation });
        }
      }
      for (const status of statuses) {
        const both = ["payout", "refund"].map((operation) => `${operation} ${status}`);
        const listed = keysOf(await scene.store.list({ ...wholeList, status }));
        scene.is(`the list of ${status}`, listed.toSorted(), both);
        const one = await scene.store.list({ ...wholeList, status, operation: "payout" });
        scene.is(`the payouts in ${status}`, keysOf(one), [`payout ${status}`]);
      }
      const payouts = await scene.store.list({ ...wholeList, operation: "payout" });
      scene.is("how many payouts there are", payouts.length, statuses.length);
    },
  ),
  storeCase(
    "the review list holds what waits for a person: in review, or flagged",
    { rule: "R30", fault: "review list" },
    async (scene) => {
      for (const status of statuses) {
        await operationIn(scene.store, status, status);
        await withIncident(
          scene.store,
          await operationIn(scene.store, `flagged ${status}`, status),
        );
      }
      const listed = keysOf(await scene.store.list({ ...wholeList, review: true }));
      const expected = ["NEEDS_REVIEW", ...statuses.map((status) => `flagged ${status}`)];
      scene.is("the review list", listed.toSorted(), expected.toSorted());
    },
  ),
  storeCase(
    "look-alikes have the same operation and mark, another key, and didn't fail",
    { rule: "R26", fault: "wrong look-alikes" },
    async (scene) => {
      const { store } = scene;
      const mark = { lookAlike: "mark" };
      for (const status of statuses) await operationIn(store, status, status, mark);
      await store.claim(claimParams("itself", mark));
      await store.claim(claimParams("other mark", { lookAlike: "other" }));
      await store.claim(claimParams("no mark", { lookAlike: null }));
      await store.claim(claimParams("other operation", { ...mark, operation: "payout" }));
      const self = { tenant: "acme", key: "itself", operation: "refund" };
      const windowMs = 3_600_000;
      const found = await store.findLookAlikes({ ...self, ...mark, windowMs });
      const expected = statuses.filter((status) => status !== "FAILED").toSorted();
      scene.is("the look-alikes", keysOf(found).toSorted(), expected);
    },
  ),
  storeCase(
    "look-alikes were created inside the window, and the newest comes first",
    { rule: "R26", fault: "look-alike window", needsClock: true },
    async (scene) => {
      for (const key of ["b", "c", "a"]) {
        await scene.store.claim(claimParams(key, { lookAlike: "mark" }));
        await scene.advance(1000);
      }
      const find = async (windowMs: number) => {
        const params = { tenant: "acme", key: "new", operation: "refund", lookAlike: "mark" };
        return keysOf(await scene.store.findLookAlikes({ ...params, windowMs }));
      };
      scene.is("in a wide window", await find(quietMs), ["a", "c", "b"]);
      scene.is("in a window that just holds two", await find(2000), ["a", "c"]);
      scene.is("in a window that just holds one", await find(1999), ["a"]);
      scene.is("in a window that holds none", await find(999), []);
    },
  ),
  storeCase(
    "bringing the schema up to date again changes nothing, also from two processes at once",
    { rule: "R27", fault: "migration not repeatable" },
    async (scene) => {
      await operationIn(scene.store, "key", "DONE");
      const before = await scene.stored();
      const [one, two] = [await scene.another(), await scene.another()];
      const reports = await Promise.all([one.migrate(), two.migrate()]);
      scene.is(
        "what was applied",
        reports.map(({ applied }) => applied),
        [[], []],
      );
      scene.is("what is stored", await scene.stored(), before);
      const { schemaVersion, programVersion } = await scene.store.inspect();
      scene.is("the schema's version", schemaVersion, programVersion);
      const reported = reports.map((report) => report.schemaVersion);
      scene.is("the version that was reported", reported, [schemaVersion, schemaVersion]);
    },
  ),
];
