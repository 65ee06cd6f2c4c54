/**
 * Cases of "attempt n goes now".
 *
 * @module
 */
import { storeCase } from "./case.ts";
import {
  armParams,
  claimParams,
  leaseMs,
  made,
  operationIn,
  quietMs,
  releaseParams,
  resendSpanMs,
} from "./params.ts";

/** Arming is refused by the statement itself when sending isn't safe any more (R10, R19, R21). */
export const arming = [
  storeCase(
    "the first arm counts an attempt and starts its window, whatever the resend span",
    { rule: "R10", fault: "first send badly recorded" },
    async (scene) => {
      const claimed = await scene.store.claim(claimParams("key", { arm: false, leaseMs: 1 }));
      const arm = armParams(claimed, { resendSpanMs: 0, wireKey: "a wire key" });
      const row = made("arm", await scene.store.arm(arm));
      const armedAtMs = row.lastArmedAtMs ?? 0;
      scene.has("the row", row, {
        attempts: 1,
        attemptsInGeneration: 1,
        generation: 0,
        firstArmedAtMs: armedAtMs,
        quietUntilMs: armedAtMs + quietMs,
        leaseUntilMs: armedAtMs + leaseMs,
        wireKey: "a wire key",
      });
      const events = ["operation.claimed", "operation.armed"];
      scene.is("the journal", await scene.events("key"), events);
    },
  ),
  storeCase(
    "arm happens once for the attempts that its owner knows",
    { rule: "R10", fault: "attempt armed twice" },
    async (scene) => {
      const claimed = await scene.store.claim(claimParams("key", { arm: false }));
      const arm = armParams(claimed);
      scene.has("the row", await scene.store.arm(arm), { attempts: 1 });
      await scene.refuses("the same arm again", () => scene.store.arm(arm));
      const ahead = { ...arm, attempts: 2 };
      await scene.refuses("an arm for an attempt to come", () => scene.store.arm(ahead));
    },
  ),
  storeCase(
    "a resend is refused where no window is declared",
    { rule: "R19", fault: "no window taken for an open one" },
    async (scene) => {
      const first = await operationIn(scene.store, "key", "IN_PROGRESS");
      const arm = armParams(first, { resendSpanMs: 0 });
      await scene.refuses("a resend span of zero", () => scene.store.arm(arm));
    },
  ),
  storeCase(
    "a resend is refused where no window is declared, though the clock stepped back",
    { rule: "R19", fault: "no window, clock back", needsClock: true },
    async (scene) => {
      const first = await operationIn(scene.store, "key", "IN_PROGRESS");
      await scene.advance(-10_000);
      const arm = armParams(first, { resendSpanMs: 0 });
      await scene.refuses("a resend span of zero", () => scene.store.arm(arm));
    },
  ),
  storeCase(
    "a resend is armed to the last millisecond of the window, which starts at the first arm",
    { rule: "R19", fault: "window not checked", needsClock: true },
    async (scene) => {
      const first = await operationIn(scene.store, "key", "IN_PROGRESS");
      await scene.advance(resendSpanMs / 2);
      const second = made("arm", await scene.store.arm(armParams(first)));
      scene.has("the row half-way", second, { lastArmedAtMs: second.readAtMs });
      await scene.advance(resendSpanMs / 2 - 1);
      const third = made("arm", await scene.store.arm(armParams(second)));
      scene.has("the row in the last millisecond", third, {
        attempts: 3,
        attemptsInGeneration: 3,
        firstArmedAtMs: first.firstArmedAtMs,
        lastArmedAtMs: first.createdAtMs + resendSpanMs - 1,
      });
      await scene.advance(1);
      const arm = armParams(third);
      await scene.refuses("the window's end", () => scene.store.arm(arm));
      await scene.advance(resendSpanMs * 100);
      await scene.refuses("a window long closed", () => scene.store.arm(arm));
    },
  ),
  storeCase(
    "a resend never makes the quiet time end sooner",
    { rule: "R18", fault: "quiet time shortened" },
    async (scene) => {
      const first = await operationIn(scene.store, "key", "IN_PROGRESS");
      const again = made("arm", await scene.store.arm(armParams(first, { quietMs: 1 })));
      scene.is("the quiet time", again.quietUntilMs, first.quietUntilMs);
      const later = made("arm", await scene.store.arm(armParams(again, { quietMs: quietMs * 9 })));
      scene.is(
        "the longer quiet time",
        later.quietUntilMs - (later.lastArmedAtMs ?? 0),
        quietMs * 9,
      );
    },
  ),
  storeCase(
    "a new generation is refused without a look-up that began after everything was quiet",
    { rule: "R21", fault: "new key without proof" },
    async (scene) => {
      const first = await operationIn(scene.store, "key", "IN_PROGRESS");
      for (const lookedAtMs of [null, first.quietUntilMs - 1, first.quietUntilMs]) {
        const arm = armParams(first, { newGeneration: true, lookedAtMs });
        await scene.refuses(`a look-up at ${lookedAtMs}`, () => scene.store.arm(arm));
      }
    },
  ),
  storeCase(
    "a new generation starts a window of its own, and its look-up counts for it alone",
    { rule: "R21", fault: "generation badly started", needsClock: true },
    async (scene) => {
      const first = await operationIn(scene.store, "key", "IN_PROGRESS");
      await scene.advance(resendSpanMs * 10);
      const looked = { newGeneration: true, lookedAtMs: first.quietUntilMs + 1 };
      const arm = armParams(first, { ...looked, wireKey: "another" });
      const renewed = made("arm", await scene.store.arm(arm));
      scene.has("the row", renewed, {
        generation: 1,
        attempts: 2,
        attemptsInGeneration: 1,
        firstArmedAtMs: renewed.readAtMs,
        lastArmedAtMs: renewed.readAtMs,
        quietUntilMs: renewed.readAtMs + quietMs,
        wireKey: "another",
      });
      const twice = armParams(renewed, looked);
      await scene.refuses("the same look-up again", () => scene.store.arm(twice));
      scene.has("a resend in the new window", await scene.store.arm(armParams(renewed)), {
        generation: 1,
        attempts: 3,
        attemptsInGeneration: 2,
        firstArmedAtMs: renewed.firstArmedAtMs,
      });
    },
  ),
  storeCase(
    "an attempt that was taken back is armed anew, with a window of its own",
    { rule: "R10", fault: "window of an attempt that never left", needsClock: true },
    async (scene) => {
      const first = await operationIn(scene.store, "key", "IN_PROGRESS");
      const released = made("release", await scene.store.release(releaseParams(first)));
      await scene.advance(resendSpanMs * 2);
      const armed = await scene.store.arm(armParams(released, { resendSpanMs: 0 }));
      scene.has("the row", armed, {
        attempts: 1,
        attemptsInGeneration: 1,
        firstArmedAtMs: first.createdAtMs + resendSpanMs * 2,
      });
    },
  ),
];
