/**
 * What each error proves, with the effect and without it, and that a later call gets over it (cases 53,
 * 55 and 58).
 */
import { describe, expect, it } from "vitest";
import type { ErrorClass, JsonObject } from "../../../src/index.ts";
import type { Fault } from "../../support/providers/counterpart.ts";
import type { StoreKind } from "../../support/stores.ts";
import { type AdapterSubject, type Scene, passingFaults, wireOf } from "./conformance-scene.ts";

const statuses = [400, 401, 402, 403, 404, 408, 409, 422, 425, 429, 500, 502, 503, 504];
/** One thing that goes wrong, and what it proves. */
interface Cell {
  readonly title: string;
  readonly fault: Fault;
  readonly proves: ErrorClass;
  readonly effect: boolean;
  /** A resend gets the provider's error again. */
  readonly kept?: boolean;
  readonly hasty?: true;
}

function cellsOf<Args extends JsonObject>(subject: AdapterSubject<Args>): readonly Cell[] {
  const own = statuses.map((status): Cell => {
    const proves = subject.classes[status] ?? "unknown";
    const kept = subject.keepsError(status);
    return {
      title: `${status} of its own`,
      fault: { refuse: status },
      proves,
      effect: false,
      kept,
    };
  });
  const gateways = statuses.flatMap((status) =>
    [false, true].map((effect): Cell => {
      const title = `${status} of a gateway, ${effect ? "after the effect" : "without an effect"}`;
      return { title, fault: { gateway: status, effect }, proves: "unknown", effect };
    }),
  );
  const broken: readonly Cell[] = [
    ["a reset without an effect", { reset: "before" }, false],
    ["a reset after the effect", { reset: "after" }, true],
    ["a truncated answer", { truncate: true }, true],
  ].map(([title, fault, effect]) => ({ title, fault, effect, proves: "unknown" }) as Cell);
  const silent = (["before", "after"] as const).map((when): Cell => {
    const effect = when === "after";
    const title = `a time-out ${effect ? "after the effect" : "without an effect"}`;
    return { title, fault: { hang: when }, proves: "unknown", effect, hasty: true };
  });
  return [...own, ...gateways, ...broken, ...silent];
}

const firstTold = {
  definitive: "OPERATION_FAILED",
  refused: "OPERATION_FAILED",
  "not-executed": "NOT_SENT",
  unknown: "OUTCOME_UNKNOWN",
} as const;

export function describeErrors<Args extends JsonObject>(
  subject: AdapterSubject<Args>,
  scene: () => Scene,
  kind: StoreKind,
): void {
  // What an error proves has nothing to do with the store, so one of them sees every cell.
  const cells = cellsOf(subject).filter(({ fault }) => kind === "sqlite" || !("gateway" in fault));
  describe("errors", () => {
    it.each(cells)("$title proves: $proves", async (cell) => {
      const { counterpart, tool, call, hastyCall, settle, row } = scene();
      counterpart.fault(cell.fault);
      const first = await (cell.hasty === true ? hastyCall(counterpart.silent()) : call());
      expect(first).toBe(firstTold[cell.proves]);
      await expect.poll(() => counterpart.effects.length).toBe(cell.effect ? 1 : 0);
      expect(counterpart.sends, "sends of one attempt").toHaveLength(1);

      const resends = tool.guarded?.contract.mode === "window";
      const last = await settle();
      if (cell.effect && subject.blind && !resends) {
        expect(last).toBe("NEEDS_REVIEW");
        expect(counterpart.effects).toHaveLength(1);
      } else if (cell.effect) {
        expect(["EXECUTED", "REPLAYED"]).toContain(last);
        expect(counterpart.effects).toHaveLength(1);
        expect((await row()).status).toBe("DONE");
      } else if (cell.proves === "definitive" || cell.proves === "refused") {
        expect(last).toBe("OPERATION_FAILED");
        expect(counterpart.sends).toHaveLength(1);
        expect(counterpart.effects).toHaveLength(0);
      } else if (cell.proves === "not-executed" || (resends && cell.kept !== true)) {
        expect(last).toBe("EXECUTED");
        expect(counterpart.effects).toHaveLength(1);
        expect(new Set(counterpart.sends.map(wireOf)).size).toBe(1);
      } else {
        expect(last).toBe("NEEDS_REVIEW");
        expect(counterpart.effects).toHaveLength(0);
        expect(new Set(counterpart.sends.map(wireOf)).size).toBe(1);
      }
    });

    it.each(passingFaults(subject.passing))(
      "$why is no refusal for good: the same call gets over it",
      async ({ fault }) => {
        const { counterpart, call, row } = scene();
        counterpart.fault(fault);
        expect(await call()).toBe("NOT_SENT");
        expect((await row()).attempts).toBe(0);
        expect(await call()).toBe("EXECUTED");
        expect(counterpart.effects).toHaveLength(1);
        expect(new Set(counterpart.sends.map(wireOf)).size).toBe(1);
      },
    );

    const { answersFailed } = subject;
    it.skipIf(answersFailed === undefined)(
      "an effect that came to nothing isn't done",
      async () => {
        const { counterpart, call } = scene();
        counterpart.fault({ makes: answersFailed ?? {} });
        expect([await call(), await call()]).toEqual(["OPERATION_FAILED", "OPERATION_FAILED"]);
        expect(counterpart.sends).toHaveLength(1);
      },
    );

    it("a refused connection proves nothing from inside an SDK, and a later call gets over it", async () => {
      const { counterpart, unreachable, call, settle, tool } = scene();
      const { seesSocket = false } = subject;
      expect(await call(unreachable)).toBe(seesSocket ? "NOT_SENT" : "OUTCOME_UNKNOWN");
      const resends = seesSocket || tool.guarded?.contract.mode === "window";
      expect(await settle()).toBe(resends ? "EXECUTED" : "NEEDS_REVIEW");
      expect(counterpart.effects).toHaveLength(resends ? 1 : 0);
    });
  });
}
