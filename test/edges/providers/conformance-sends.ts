/**
 * One armed attempt is one send, and all sends of an operation are the same (cases 18, 57, 66 and 114).
 */
import { describe, expect, it } from "vitest";
import { type ExecuteCall, type JsonObject, days } from "../../../src/index.ts";
import { type AdapterSubject, type Scene, bounds, wireOf } from "./conformance-scene.ts";

/** An attempt without a guard around it. */
function bareCall(change: Partial<ExecuteCall> = {}): ExecuteCall {
  const key = "5e".repeat(32);
  return {
    tenant: "acme",
    key,
    wireKey: "5e5e5e5e-5e5e-5e5e-9e5e-5e5e5e5e5e5e",
    signal: new AbortController().signal,
    beforeWrite: () => {},
    sendWithinMs: 2000,
    notSent: (cause) => new Error("not sent", { cause }),
    ...change,
  };
}

export function describeSends<Args extends JsonObject>(
  subject: AdapterSubject<Args>,
  scene: () => Scene,
): void {
  describe("sends", () => {
    it("carry the operation's key and tag from the first attempt on, byte for byte", async () => {
      const { counterpart } = scene();
      const { execute } = await subject.parts(counterpart.url, bounds);
      counterpart.fault({ gateway: 502, effect: false }, { gateway: 503, effect: false });
      const call = bareCall();
      for (let attempt = 1; attempt <= 3; attempt += 1) {
        const outcome = await execute(subject.args, call).then(
          () => "done",
          () => "in doubt",
        );
        expect(outcome).toBe(attempt === 3 ? "done" : "in doubt");
      }
      expect(counterpart.sends).toHaveLength(3);
      expect(new Set(counterpart.sends.map(wireOf)).size).toBe(1);
      const [first] = counterpart.sends;
      if (first === undefined) throw new Error("nothing was sent");
      expect([call.key, call.wireKey]).toContain(subject.tagOf(first));
      expect([undefined, call.wireKey]).toContain(first.key);
    });

    it("carry what the row says", async () => {
      const { counterpart, call, row } = scene();
      expect(await call()).toBe("EXECUTED");
      const { key, wireKey } = await row();
      const [send] = counterpart.sends;
      if (send === undefined) throw new Error("nothing was sent");
      expect([key, wireKey]).toContain(subject.tagOf(send));
      expect([undefined, wireKey]).toContain(send.key);
    });

    it("go out once where a connection that was kept breaks, whatever the SDK would do", async () => {
      const { counterpart } = scene();
      const { execute } = await subject.parts(counterpart.url, bounds);
      await execute(subject.args, bareCall());
      counterpart.fault({ reset: "before" });
      const other = bareCall({
        key: "7a".repeat(32),
        wireKey: "7a7a7a7a-7a7a-4a7a-9a7a-7a7a7a7a7a7a",
      });
      await expect(execute(subject.args, other)).rejects.toThrow();
      expect(counterpart.sends).toHaveLength(2);
      expect([undefined, other.wireKey]).toContain(counterpart.sends[1]?.key);
    });

    it("don't happen too late", async () => {
      const { counterpart } = scene();
      const { execute } = await subject.parts(counterpart.url, bounds);
      const late = new Error("too late");
      const beforeWrite = (): never => {
        throw late;
      };
      await expect(execute(subject.args, bareCall({ beforeWrite }))).rejects.toBe(late);
      expect(counterpart.sends).toHaveLength(0);
    });

    it("end when the provider may have forgotten the key", async () => {
      const { counterpart, call, settle, wait, tool } = scene();
      counterpart.fault({ gateway: 502, effect: false });
      expect(await call()).toBe("OUTCOME_UNKNOWN");
      wait(tool.guarded?.contract.key?.retentionMs ?? days(60));
      expect(await settle()).toBe("NEEDS_REVIEW");
      expect(counterpart.sends).toHaveLength(1);
    });

    it("are kept in check where they meet each other", async () => {
      const { counterpart, call, hastyCall, settle, tool } = scene();
      const reviewed = subject.blind && tool.guarded?.contract.mode !== "window";
      counterpart.fault({ hold: true });
      expect(await hastyCall(counterpart.held())).toBe("OUTCOME_UNKNOWN");
      expect(await call()).toBe(reviewed ? "NEEDS_REVIEW" : "OUTCOME_UNKNOWN");
      counterpart.release();
      const last = reviewed ? ["NEEDS_REVIEW"] : ["EXECUTED", "REPLAYED"];
      expect(last).toContain(await settle());
      expect(counterpart.effects).toHaveLength(1);
    });
  });
}
