/**
 * The look-up takes nothing for ours that isn't, and loses nothing that is (case 70).
 */
import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../../src/index.ts";
import type { Effect } from "../../support/providers/counterpart.ts";
import {
  type AdapterSubject,
  type Resource,
  type Scene,
  lostReply,
  quietMs,
} from "./conformance-scene.ts";

export function describeLookUps<Args extends JsonObject>(
  subject: AdapterSubject<Args>,
  scene: () => Scene,
): void {
  /** The effect is there, and its answer was lost. */
  const lost = async (
    change: (resource: Resource) => Resource = (same) => same,
  ): Promise<Effect> => {
    const { counterpart, call } = scene();
    counterpart.fault(lostReply);
    expect(await call()).toBe("OUTCOME_UNKNOWN");
    const [effect] = counterpart.effects;
    if (effect === undefined) throw new Error("there is no effect");
    effect.resource = change(effect.resource);
    return effect;
  };

  describe.skipIf(subject.pointer !== true)("a repeat that is led to", () => {
    it.each(["foreign", "differing"] as const)("a %s resource asks a person", async (which) => {
      const { counterpart, settle, row } = scene();
      await lost((resource) => subject[which](resource));
      expect(await settle()).toBe("NEEDS_REVIEW");
      expect(counterpart.effects).toHaveLength(1);
      expect((await row()).status).toBe("NEEDS_REVIEW");
    });
  });

  describe.skipIf(subject.blind)("look-up", () => {
    it("that lags loses nothing and doubles nothing", async () => {
      const { counterpart, call, settle } = scene();
      counterpart.lagMs = quietMs - 1;
      await lost();
      expect(["OUTCOME_UNKNOWN", "EXECUTED"]).toContain(await call());
      expect(["EXECUTED", "REPLAYED"]).toContain(await settle());
      expect(counterpart.effects).toHaveLength(1);
    });

    const { pending, failed, twin } = subject;
    it.skipIf(twin === undefined)("that finds two of ours asks a person", async () => {
      const { counterpart, settle } = scene();
      const effect = await lost();
      counterpart.plant(twin?.(effect.resource) ?? {});
      expect(await settle()).toBe("NEEDS_REVIEW");
      expect(counterpart.sends).toHaveLength(1);
    });

    it("doesn't take what only looks like ours", async () => {
      const { counterpart, call, settle, tool } = scene();
      const effect = await lost();
      counterpart.reset();
      const foreign = counterpart.plant(subject.foreign(effect.resource));
      counterpart.advance(quietMs);
      const resends = tool.guarded?.contract.mode === "window";
      expect(await settle()).toBe(resends ? "EXECUTED" : "NEEDS_REVIEW");
      expect(counterpart.effects).toHaveLength(resends ? 2 : 1);
      expect(counterpart.effects[0]).toBe(foreign);
      expect(await call()).toBe(resends ? "REPLAYED" : "NEEDS_REVIEW");
    });

    it("that finds ours, and not what was asked for, asks a person", async () => {
      const { counterpart, settle, row } = scene();
      await lost((resource) => subject.differing(resource));
      expect(await settle()).toBe("NEEDS_REVIEW");
      expect((await row()).reviewReason).toContain("differs in");
      expect(counterpart.sends).toHaveLength(1);
    });

    it.skipIf(pending === undefined)("doesn't take pending for done", async () => {
      const { counterpart, call } = scene();
      let settled: Resource = {};
      const effect = await lost((resource) => {
        settled = resource;
        return pending?.(resource) ?? {};
      });
      expect([await call(), await call()]).toEqual(["OUTCOME_UNKNOWN", "OUTCOME_UNKNOWN"]);
      effect.resource = settled;
      expect([await call(), await call()]).toEqual(["REPLAYED", "REPLAYED"]);
      expect(counterpart.sends).toHaveLength(1);
      expect(counterpart.effects).toHaveLength(1);
    });

    it.skipIf(failed === undefined)("tells a failure from a success", async () => {
      const { counterpart, call } = scene();
      await lost(failed);
      expect(await call()).toBe("OPERATION_FAILED");
      expect(counterpart.sends).toHaveLength(1);
    });
  });
}

export function describeRepeats<Args extends JsonObject>(
  { blind }: AdapterSubject<Args>,
  scene: () => Scene,
  unguarded: () => Scene,
): void {
  /** The reply is lost, and the agent asks again and again. */
  const play = async ({ counterpart, call, settle, tool }: Scene): Promise<void> => {
    const reviewed = blind && tool.guarded?.contract.mode !== "window";
    counterpart.fault(lostReply);
    expect(await call().catch(() => "OTHER")).toBe("OUTCOME_UNKNOWN");
    expect(reviewed ? ["NEEDS_REVIEW"] : ["EXECUTED", "REPLAYED"]).toContain(await settle());
    const later = reviewed ? "NEEDS_REVIEW" : "REPLAYED";
    expect([await call(), await call()]).toEqual([later, later]);
    expect(counterpart.effects).toHaveLength(1);
  };

  describe("repeats", () => {
    it("make one effect", () => play(scene()));
    it("make several under a pass-through guard", async () => {
      const bare = unguarded();
      await expect(play(bare)).rejects.toThrow();
      await bare.call();
      await bare.call();
      expect(bare.counterpart.effects.length).toBeGreaterThan(1);
    });
  });
}
