/**
 * Cases of the outcome.
 *
 * @module
 */
import { storeCase } from "./case.ts";
import {
  armParams,
  claimParams,
  completeParams,
  failParams,
  incidentParams,
  made,
  operationIn,
  quietMs,
  takenOver,
  withIncident,
} from "./params.ts";

/** Success is knowledge, FAILED needs a proof, and nothing settled ever changes (R13, R14). */
export const settling = [
  storeCase(
    "success is merged whoever brings it, also when another acquisition has the operation",
    { rule: "R14", fault: "success refused by token" },
    async (scene) => {
      const { owner } = await takenOver(scene.store, "key");
      const late = await (await scene.another()).complete(completeParams("key"));
      scene.has("the row", late, {
        status: "DONE",
        resultKind: "json",
        result: '{"id":"effect-1"}',
        providerId: "effect-1",
        token: owner.token,
        version: owner.version + 1,
        journalSeq: owner.journalSeq + 1,
      });
    },
  ),
  storeCase(
    "success is merged into every open status, and takes error and reason away",
    { rule: "R14", fault: "success refused by status" },
    async (scene) => {
      for (const status of ["IN_PROGRESS", "UNKNOWN", "NEEDS_REVIEW"] as const) {
        const seen = await operationIn(scene.store, status, status);
        const event = "operation.found";
        const complete = completeParams(status, { event, providerId: null, resultKind: "json" });
        const row = scene.has(status, await scene.store.complete(complete), {
          status: "DONE",
          result: '{"id":"effect-1"}',
          providerId: null,
          error: null,
          reviewReason: null,
          attempts: seen.attempts,
        });
        scene.holds("its lease is over", row.leaseUntilMs <= row.readAtMs);
        scene.is("the journal's last event", (await scene.events(status)).at(-1), event);
      }
    },
  ),
  storeCase(
    "a second success writes nothing, equal or not: the caller compares",
    { rule: "R14", fault: "result overwritten" },
    async (scene) => {
      await operationIn(scene.store, "key", "DONE");
      const equal = completeParams("key");
      await scene.refuses("an equal result", () => scene.store.complete(equal));
      const other = completeParams("key", { result: '"other"', providerId: "effect-2" });
      await scene.refuses("another result", () => scene.store.complete(other));
    },
  ),
  storeCase(
    "success after FAILED writes nothing: the caller flags the incident",
    { rule: "R14", fault: "FAILED overwritten" },
    async (scene) => {
      await operationIn(scene.store, "key", "FAILED");
      await scene.refuses("success", () => scene.store.complete(completeParams("key")));
    },
  ),
  storeCase(
    "success of an operation that isn't there creates none",
    { rule: "R14", fault: "operation out of nothing" },
    async (scene) => {
      await scene.refuses("success", () => scene.store.complete(completeParams("no such key")));
    },
  ),
  storeCase(
    "of two successes at the same time one is stored, and the other gets no row",
    { rule: "R14", fault: "completion race" },
    async (scene) => {
      const owner = await operationIn(scene.store, "key", "UNKNOWN");
      const stores = [scene.store, scene.store, await scene.another(), await scene.another()];
      const completions = stores.map((store, at) =>
        store.complete(completeParams("key", { result: `"result ${at}"` })),
      );
      const rows = (await Promise.all(completions)).filter((row) => row !== undefined);
      scene.is("how many were stored", rows.length, 1);
      scene.has("the stored row", await scene.row(owner), { result: rows[0]?.result ?? null });
      const events = (await scene.events("key")).filter((event) => event === "operation.completed");
      scene.is("how often the journal says so", events.length, 1);
    },
  ),
  storeCase(
    "completions of many keys at once each get their own row",
    { rule: "R15", fault: "results mixed up in a batch" },
    async (scene) => {
      const keys = Array.from({ length: 40 }, (_, at) => `key-${at}`);
      await Promise.all(keys.map((key) => scene.store.claim(claimParams(key))));
      const completions = keys.map((key) =>
        scene.store.complete(completeParams(key, { result: `"${key}"`, providerId: key })),
      );
      const rows = await Promise.all(completions);
      for (const [at, key] of keys.entries()) {
        const expected = { key, status: "DONE", result: `"${key}"`, providerId: key } as const;
        scene.has(`the row of ${key}`, rows[at], expected);
        scene.has(`the row of ${key}`, await scene.store.read({ tenant: "acme", key }), expected);
      }
    },
  ),
  storeCase(
    "an incident is flagged on what is settled and the outcome stays",
    { rule: "R14", fault: "incident changes the outcome" },
    async (scene) => {
      for (const status of ["DONE", "FAILED"] as const) {
        const { readAtMs: _, ...settled } = await operationIn(scene.store, status, status);
        const flag = incidentParams(status, { incident: "two effects" });
        scene.has(status, await scene.store.recordIncident(flag), {
          ...settled,
          incident: "two effects",
          version: settled.version + 1,
          journalSeq: settled.journalSeq + 1,
        });
        const last = (await scene.events(status)).at(-1);
        scene.is("the journal's last event", last, "operation.incident");
      }
    },
  ),
  storeCase(
    "an incident needs an operation",
    { rule: "R14", fault: "incident out of nothing" },
    async (scene) => {
      const flag = incidentParams("no such key");
      await scene.refuses("an incident", () => scene.store.recordIncident(flag));
    },
  ),
  storeCase(
    "FAILED never overwrites DONE, not even with the right token",
    { rule: "R16", fault: "DONE overwritten" },
    async (scene) => {
      const owner = await operationIn(scene.store, "key", "IN_PROGRESS");
      made("complete", await scene.store.complete(completeParams("key")));
      const fail = failParams(owner, { replaysDeclines: true });
      await scene.refuses("a refusal", () => scene.store.fail(fail));
      const absent = failParams(owner, { lookedAtMs: owner.quietUntilMs + 1 });
      await scene.refuses("an absence", () => scene.store.fail(absent));
    },
  ),
  storeCase(
    "of success and refusal at the same time one settles the operation",
    { rule: "R16", fault: "settling race" },
    async (scene) => {
      const other = await scene.another();
      for (const at of Array.from({ length: 8 }, (_, place) => place)) {
        const owner = await operationIn(scene.store, `key-${at}`, "IN_PROGRESS");
        const complete = () => scene.store.complete(completeParams(owner.key));
        const fail = () => other.fail(failParams(owner));
        const rivals = at % 2 === 0 ? [complete(), fail()] : [fail(), complete()];
        const rows = (await Promise.all(rivals)).filter((row) => row !== undefined);
        scene.is("how many settled it", rows.length, 1);
        const { status } = await scene.row(owner);
        scene.has("the row of the one that did", rows[0], { status });
      }
    },
  ),
  storeCase(
    "a refusal settles as FAILED when it was the only attempt, and stores the error",
    { rule: "R13", fault: "refusal not stored" },
    async (scene) => {
      const owner = await operationIn(scene.store, "key", "IN_PROGRESS");
      const fail = failParams(owner, { error: '{"message":"no cover"}' });
      const row = scene.has("the row", await scene.store.fail(fail), {
        status: "FAILED",
        error: '{"message":"no cover"}',
        resultKind: null,
      });
      scene.holds("its lease is over", row.leaseUntilMs <= row.readAtMs);
    },
  ),
  storeCase(
    "a refusal settles nothing when another attempt may have landed, unless declines are replayed",
    { rule: "R13", fault: "FAILED in spite of another attempt" },
    async (scene) => {
      const owner = await operationIn(scene.store, "key", "IN_PROGRESS");
      const resent = made("arm", await scene.store.arm(armParams(owner)));
      await scene.refuses("two attempts", () => scene.store.fail(failParams(resent)));
      const replayed = await scene.store.fail(failParams(resent, { replaysDeclines: true }));
      scene.has("the row where declines are replayed", replayed, { status: "FAILED" });
    },
  ),
  storeCase(
    "a refusal settles nothing when nothing was sent, for nobody can have refused",
    { rule: "R13", fault: "FAILED without an attempt" },
    async (scene) => {
      const owner = await scene.store.claim(claimParams("key", { arm: false }));
      await scene.refuses("no attempt", () => scene.store.fail(failParams(owner)));
    },
  ),
  storeCase(
    "an absence settles as FAILED only when it was looked up after everything was quiet",
    { rule: "R18", fault: "FAILED by an early look-up" },
    async (scene) => {
      const owner = await operationIn(scene.store, "key", "IN_PROGRESS");
      for (const replaysDeclines of [false, true]) {
        for (const lookedAtMs of [owner.quietUntilMs - quietMs, owner.quietUntilMs]) {
          const early = failParams(owner, { lookedAtMs, replaysDeclines });
          await scene.refuses(`a look-up at ${lookedAtMs}`, () => scene.store.fail(early));
        }
      }
      const resent = made("arm", await scene.store.arm(armParams(owner)));
      const late = failParams(resent, { lookedAtMs: resent.quietUntilMs + 1 });
      scene.has("the row", await scene.store.fail(late), { status: "FAILED" });
    },
  ),
  storeCase(
    "an incident on an open operation leaves it open, and success still comes in",
    { rule: "R14", fault: "incident blocks success" },
    async (scene) => {
      const open = await operationIn(scene.store, "key", "UNKNOWN");
      const { incident } = await withIncident(scene.store, open);
      const done = await scene.store.complete(completeParams("key"));
      scene.has("the row", done, { status: "DONE", incident });
    },
  ),
];
