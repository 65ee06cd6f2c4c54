/**
 * Cases of the clock.
 *
 * @module
 */
import { storeCase } from "./case.ts";
import {
  armParams,
  claimParams,
  completeParams,
  failParams,
  fencedBy,
  incidentParams,
  intentParams,
  leaseMs,
  made,
  operationIn,
  quietMs,
  releaseParams,
  resolveParams,
  takeOverParams,
  unknownParams,
  wholeList,
} from "./params.ts";

/** All times are the database's: workers' clocks play no part (R9). */
export const times = [
  storeCase(
    "every method tells the time of reading, by the database's clock",
    { rule: "R9", fault: "time of reading wrong", needsClock: true },
    async (scene) => {
      const { store } = scene;
      const claim = claimParams("key", { lookAlike: "mark" });
      const { readAtMs: startMs } = await store.claim(claim);
      await store.claim(claimParams("other", { lookAlike: "mark" }));
      let passedMs = 0;
      const told = async (what: string, read: () => Promise<{ readAtMs: number } | undefined>) => {
        await scene.advance(1000);
        passedMs += 1000;
        scene.is(`the time of reading, ${what}`, (await read())?.readAtMs, startMs + passedMs);
      };
      const row = () => store.read(claim);
      const owner = made("read", await row());
      await told("claim", () => store.claim(claim));
      await told("read", row);
      await told("list", async () => (await store.list(wholeList)).at(-1));
      await told("renew", () => store.renew({ ...fencedBy(owner), leaseMs, detail: "{}" }));
      await told("arm", () => store.arm(armParams(owner)));
      await told("release", () => store.release(releaseParams({ ...owner, attempts: 2 })));
      await told("findDue", async () => {
        return (await store.findDue({ tools: [claim.tool], limit: 10 })).at(-1);
      });
      await told("takeOver", () => store.takeOver(takeOverParams(owner)));
      const { token } = made("read", await row());
      await told("markUnknown", () => store.markUnknown(unknownParams({ ...owner, token })));
      await told("recordIncident", () => store.recordIncident(incidentParams("key")));
      await told("complete", () => store.complete(completeParams("key")));
      const { version } = made("read", await row());
      await told("resolve", () => store.resolve(resolveParams({ ...owner, version })));
      await told("recordIntent", () => store.recordIntent(intentParams("key")));
      const { tenant, operation } = claim;
      const alike = { tenant, operation, key: "none", lookAlike: "mark", windowMs: 1_000_000 };
      await told("findLookAlikes", async () => (await store.findLookAlikes(alike))[0]);
    },
  ),
  storeCase(
    "a claim's times count from the database's now, however far that is from the worker's",
    { rule: "R9", fault: "claimed by the wall clock", needsClock: true },
    async (scene) => {
      const { readAtMs: startMs } = await operationIn(scene.store, "before", "IN_PROGRESS");
      for (const [name, spanMs] of [
        ["years ahead", 10 ** 11],
        ["back again", -(10 ** 11) + 777],
      ] as const) {
        await scene.advance(spanMs);
        const nowMs = spanMs > 0 ? startMs + spanMs : startMs + 777;
        const row = await scene.store.claim(claimParams(name));
        scene.has(`the row claimed ${name}`, row, {
          createdAtMs: nowMs,
          firstArmedAtMs: nowMs,
          lastArmedAtMs: nowMs,
          leaseUntilMs: nowMs + leaseMs,
          quietUntilMs: nowMs + quietMs,
          readAtMs: nowMs,
        });
        const atMs = (await scene.lines(name)).map((line) => line.atMs);
        scene.is("the journal's times", atMs, [nowMs, nowMs]);
      }
    },
  ),
  storeCase(
    "every write takes lease, time of settling and journal time from the database's now",
    { rule: "R9", fault: "written by the wall clock", needsClock: true },
    async (scene) => {
      const { store } = scene;
      const { createdAtMs } = await operationIn(store, "key-0", "UNKNOWN");
      await scene.advance(quietMs * 10);
      const nowMs = createdAtMs + quietMs * 10;
      const owners = [];
      for (const at of [1, 2, 3, 4, 5, 6]) {
        owners.push(await operationIn(store, `key-${at}`, "IN_PROGRESS"));
      }
      await scene.advance(5);
      const thenMs = nowMs + 5;
      const [renewed, armed, completed, failed, unknown, escalated] = owners;
      if (renewed === undefined || armed === undefined || completed === undefined) return;
      if (failed === undefined || unknown === undefined || escalated === undefined) return;
      const seen = made("read", await store.read({ tenant: "acme", key: "key-0" }));
      const open = { leaseUntilMs: thenMs + leaseMs };
      const settled = { leaseUntilMs: thenMs, settledAtMs: thenMs };
      const doubtful = { leaseUntilMs: thenMs, settledAtMs: null };
      scene.has("takeOver", await store.takeOver(takeOverParams(seen)), open);
      const renew = { ...fencedBy(renewed), leaseMs, detail: "{}" };
      scene.has("renew", await store.renew(renew), open);
      scene.has("arm", await store.arm(armParams(armed)), { ...open, lastArmedAtMs: thenMs });
      scene.has("complete", await store.complete(completeParams(completed.key)), settled);
      scene.has("fail", await store.fail(failParams(failed)), settled);
      scene.has("markUnknown", await store.markUnknown(unknownParams(unknown)), doubtful);
      const escalate = { ...fencedBy(escalated), reason: "why", detail: "{}" };
      const waiting = made("escalate", await store.escalate(escalate));
      scene.has("escalate", waiting, doubtful);
      const decided = await store.resolve(resolveParams(waiting));
      scene.has("resolve", decided, { settledAtMs: thenMs });
      const release = releaseParams({ ...armed, attempts: 2 });
      scene.has("release", await store.release(release), { leaseUntilMs: thenMs });
      for (const at of [0, 1, 2, 3, 4, 5, 6]) {
        const last = (await scene.lines(`key-${at}`)).at(-1);
        scene.is("the journal's time", last?.atMs, thenMs);
      }
    },
  ),
];
