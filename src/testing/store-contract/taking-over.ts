/**
 * Cases of the take-over.
 *
 * @module
 */
import { storeCase } from "./case.ts";
import { claimParams, leaseMs, operationIn, takeOverParams } from "./params.ts";

/** Token, status and lease are checked in the one statement that takes (R12). */
export const takingOver = [
  storeCase(
    "a take-over is refused while the lease is alive",
    { rule: "R12", fault: "lease not checked again" },
    async (scene) => {
      const alive = await operationIn(scene.store, "key", "IN_PROGRESS");
      const store = await scene.another();
      await scene.refuses("a live lease", () => store.takeOver(takeOverParams(alive)));
    },
  ),
  storeCase(
    "a lease is over in the millisecond in which it ends, by the database's clock",
    { rule: "R9", fault: "lease by another clock", needsClock: true },
    async (scene) => {
      const seen = await operationIn(scene.store, "key", "IN_PROGRESS");
      const take = () => scene.store.takeOver(takeOverParams(seen));
      await scene.advance(leaseMs - 1);
      await scene.refuses("the lease's last millisecond", take);
      await scene.advance(1);
      scene.has("the row taken over", await take(), {
        status: "IN_PROGRESS",
        leaseUntilMs: seen.leaseUntilMs + leaseMs,
      });
    },
  ),
  storeCase(
    "a take-over of a settled operation, or of one in review, is refused",
    { rule: "R12", fault: "status not checked again" },
    async (scene) => {
      for (const status of ["DONE", "FAILED", "NEEDS_REVIEW"] as const) {
        const seen = await operationIn(scene.store, status, status, { leaseMs: 0 });
        await scene.refuses(status, () => scene.store.takeOver(takeOverParams(seen)));
      }
    },
  ),
  storeCase(
    "a take-over with a token that isn't the row's is refused",
    { rule: "R12", fault: "token not checked on take-over" },
    async (scene) => {
      const seen = await operationIn(scene.store, "key", "UNKNOWN");
      for (const off of [-1, 1]) {
        const stale = takeOverParams({ ...seen, token: seen.token + off });
        await scene.refuses(`a token off by ${off}`, () => scene.store.takeOver(stale));
      }
      const taken = await scene.store.takeOver(takeOverParams(seen));
      scene.has("the row taken with the right token", taken, { status: "IN_PROGRESS" });
    },
  ),
  storeCase(
    "of several take-overs that saw the same row one wins",
    { rule: "R12", fault: "take-over race" },
    async (scene) => {
      const seen = await operationIn(scene.store, "key", "UNKNOWN");
      const stores = await Promise.all(Array.from({ length: 6 }, () => scene.another()));
      const takers = stores.map((store) => store.takeOver(takeOverParams(seen)));
      const won = (await Promise.all(takers)).filter((row) => row !== undefined);
      scene.is("how many took it", won.length, 1);
      const { token, acquisitionId } = await scene.row(seen);
      scene.has("the winner's row", won[0], { token, acquisitionId });
    },
  ),
  storeCase(
    "a take-over gives token, acquisition and lease anew, and keeps what was sent",
    { rule: "R12", fault: "take-over changes too little or too much" },
    async (scene) => {
      const seen = await operationIn(scene.store, "key", "UNKNOWN");
      const taker = takeOverParams(seen, { acquisitionId: "another" });
      const { readAtMs: _, leaseUntilMs: __, token, ...kept } = seen;
      const taken = scene.has("the row", await scene.store.takeOver(taker), {
        ...kept,
        status: "IN_PROGRESS",
        acquisitionId: "another",
        version: seen.version + 1,
        journalSeq: seen.journalSeq + 1,
        sweeps: seen.sweeps + 1,
      });
      scene.holds("the new token is higher", taken.token > token);
      scene.holds("the lease is alive", taken.leaseUntilMs > taken.readAtMs);
      const last = (await scene.lines("key")).at(-1);
      const told = { event: last?.event, token: last?.token, status: last?.status };
      const expected = { event: "operation.taken-over", token: taken.token, status: "IN_PROGRESS" };
      scene.is("the journal's last line", told, expected);
    },
  ),
  storeCase(
    "a claim that was never armed can be taken over once its lease is over",
    { rule: "R12", fault: "unarmed claim is stuck" },
    async (scene) => {
      const seen = await scene.store.claim(claimParams("key", { arm: false, leaseMs: 0 }));
      const taken = await scene.store.takeOver(takeOverParams(seen));
      scene.has("the row", taken, { attempts: 0, attemptsInGeneration: 0, firstArmedAtMs: null });
    },
  ),
];
