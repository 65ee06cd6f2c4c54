/**
 * Cases of tenants.
 *
 * @module
 */
import type { OperationRecord } from "../../ledger/record.ts";
import type { Store } from "../../ledger/store.ts";
import { type StoreCase, storeCase } from "./case.ts";
import {
  type Owner,
  armParams,
  claimParams,
  completeParams,
  failParams,
  fencedBy,
  incidentParams,
  intentParams,
  leaseMs,
  operationIn,
  releaseParams,
  resolveParams,
  takeOverParams,
  unknownParams,
  wholeList,
} from "./params.ts";

type Row = Owner & { readonly version: number };
type Write = (store: Store, row: Row) => Promise<OperationRecord | undefined>;

const writes: Readonly<
  Record<string, readonly ["IN_PROGRESS" | "UNKNOWN" | "NEEDS_REVIEW" | "DONE", Write]>
> = {
  takeOver: ["UNKNOWN", (store, row) => store.takeOver(takeOverParams(row))],
  arm: ["IN_PROGRESS", (store, row) => store.arm(armParams(row))],
  renew: ["IN_PROGRESS", (store, row) => store.renew({ ...fencedBy(row), leaseMs, detail: "{}" })],
  release: ["IN_PROGRESS", (store, row) => store.release(releaseParams(row))],
  complete: [
    "IN_PROGRESS",
    (store, { tenant, key }) => store.complete(completeParams(key, { tenant })),
  ],
  fail: ["IN_PROGRESS", (store, row) => store.fail(failParams(row))],
  markUnknown: ["IN_PROGRESS", (store, row) => store.markUnknown(unknownParams(row))],
  escalate: [
    "IN_PROGRESS",
    (store, row) => store.escalate({ ...fencedBy(row), reason: "why", detail: "{}" }),
  ],
  resolve: ["NEEDS_REVIEW", (store, row) => store.resolve(resolveParams(row))],
  recordIncident: [
    "DONE",
    (store, { tenant, key }) => store.recordIncident(incidentParams(key, { tenant })),
  ],
  recordIntent: [
    "DONE",
    (store, { tenant, key }) => store.recordIntent(intentParams(key, { tenant })),
  ],
};

/** A tenant is part of every identity and of every read (R6). */
export const tenants: readonly StoreCase[] = [
  storeCase(
    "tenants that use the same key have operations of their own",
    { rule: "R6", fault: "tenant ignored by claim" },
    async (scene) => {
      const claims = ["acme", "bravo", "cargo"].map((tenant) => claimParams("key", { tenant }));
      const rows = await Promise.all(claims.map((claim) => scene.store.claim(claim)));
      for (const [at, { tenant, acquisitionId }] of claims.entries()) {
        scene.has(`the row of ${tenant}`, rows[at], { tenant, acquisitionId });
      }
      const done = completeParams("key", { tenant: "bravo" });
      scene.has("the completed row", await scene.store.complete(done), { tenant: "bravo" });
      const status = "IN_PROGRESS";
      const first = { tenant: "acme", key: "key" };
      scene.has("acme's row", await scene.row(first), { tenant: "acme", status });
    },
  ),
  storeCase(
    "read tells a tenant nothing of another's operation",
    { rule: "R6", fault: "tenant ignored by read" },
    async (scene) => {
      await operationIn(scene.store, "key", "DONE", { tenant: "acme" });
      const seen = await scene.store.read({ tenant: "bravo", key: "key" });
      scene.is("what bravo reads", seen, undefined);
      const none = await scene.store.read({ tenant: "acme", key: "no such key" });
      scene.is("what acme reads of a key that nobody claimed", none, undefined);
    },
  ),
  storeCase(
    "list, look-alikes and the journal of a tenant hold its own operations only",
    { rule: "R6", fault: "tenant ignored in lists" },
    async (scene) => {
      for (const tenant of ["acme", "bravo"]) {
        await scene.store.claim(claimParams(`key of ${tenant}`, { tenant, lookAlike: "mark" }));
      }
      const tenant = "acme";
      const listed = await scene.store.list({ ...wholeList, tenant });
      scene.is(
        "the list",
        listed.map((row) => row.key),
        ["key of acme"],
      );
      const journal = await scene.store.readJournal({ tenant, key: null, after: null, limit: 100 });
      const told = new Set(journal.map((line) => line.tenant));
      scene.is("the journal's tenants", [...told], ["acme"]);
      const alike = { operation: "refund", lookAlike: "mark", windowMs: 3_600_000, key: "none" };
      const found = await scene.store.findLookAlikes({ ...alike, tenant });
      scene.is(
        "the look-alikes",
        found.map((row) => row.key),
        ["key of acme"],
      );
    },
  ),
  ...Object.entries(writes).map(([method, [status, write]]) =>
    storeCase(
      `${method} under another tenant's name writes nothing`,
      { rule: "R6", fault: `tenant ignored by ${method}` },
      async (scene) => {
        const row = await operationIn(scene.store, "key", status);
        const foreign = { ...row, tenant: "bravo" };
        await scene.refuses("the right key of the wrong tenant", () => write(scene.store, foreign));
        const stray = { ...row, key: "no such key" };
        await scene.refuses("a key that nobody claimed", () => write(scene.store, stray));
        scene.has("the row under its own tenant's name", await write(scene.store, row), {
          tenant: "acme",
        });
      },
    ),
  ),
];
