/**
 * What every adapter for `ensure` must hold, judged by the ledger of the provider's counterpart: one armed
 * change is one send, what an answer leaves in doubt is settled by looking, and each error counts for what
 * it proves and no more.
 */
import { describe, expect, it, onTestFinished } from "vitest";
import {
  type ErrorClass,
  type Guard,
  type GuardOptions,
  type RegisteredEnsureTool,
  createEnsure,
  createGuard,
  isNeverTwiceError,
} from "../../../src/index.ts";
import type { EnsureBounds } from "../../../src/edges/providers/shared/adapter.ts";
import { passThroughGuard } from "../../support/pass-through.ts";
import type { Counterpart, Fault } from "../../support/providers/counterpart.ts";
import { ringingRuntime } from "../../support/store-faults.ts";
import {
  type OpenStore,
  type StoreSuite,
  TestClock,
  describeStores,
} from "../../support/stores.ts";
import { type Passing, passingFaults } from "./conformance-scene.ts";

export const ensureBounds = {
  timeoutMs: 20_000,
  flightMs: 5000,
  marginMs: 1000,
  convergeWithinMs: 20_000,
  observeEveryMs: 10,
} as const;

/** Longer than sends, flight, answer and margin of a change together. */
const quietMs = 60_000;

/** One adapter's tool. It must take `{ size, version }`. */
export interface EnsureSubject {
  readonly title: string;
  start(): Promise<Counterpart>;
  tool(url: string, bounds: EnsureBounds): Promise<RegisteredEnsureTool>;
  /** What the provider's own errors prove. A status that isn't named is `unknown`. */
  readonly classes: Readonly<Record<number, ErrorClass>>;
  /** The provider's own refusals for a reason that may pass while the request stays as it is. */
  readonly passing: Passing;
}

interface SizeArgs {
  readonly size: number;
  readonly version: number;
}

export interface EnsureScene {
  readonly counterpart: Counterpart;
  readonly opened: OpenStore;
  readonly guard: Guard;
  /** Asks for a state and says what the caller was told: CHANGED, THERE, or an error's code. */
  readonly call: (args?: SizeArgs) => Promise<string>;
  /** The same, by a caller who doesn't wait until the state is there. */
  readonly hastyCall: (args?: SizeArgs) => Promise<string>;
  readonly advance: () => void;
}

const first = { size: 1, version: 1 };

/** A scene of its own for one test. */
export async function ensureScene(
  subject: Pick<EnsureSubject, "start" | "tool">,
  suite: StoreSuite,
  guardOf: (options: GuardOptions) => Promise<Guard> = createGuard,
): Promise<EnsureScene> {
  const clock = new TestClock();
  const opened = await suite.open({ clock });
  const counterpart = await subject.start();
  onTestFinished(() => counterpart.close());
  const guard = await guardOf({ store: opened.store });
  const caller = async (more: EnsureBounds): Promise<EnsureScene["call"]> => {
    const tool = await subject.tool(counterpart.url, more);
    // A guard takes one tool of a name.
    const ensure = createEnsure({
      store: opened.store,
      guard: await guardOf({ store: opened.store }),
    });
    return async (args = first) => {
      try {
        return (await ensure(tool, args, { tenant: "acme" })).changed ? "CHANGED" : "THERE";
      } catch (error) {
        return isNeverTwiceError(error) ? error.code : "OTHER";
      }
    };
  };
  return {
    counterpart,
    opened,
    guard,
    call: await caller(ensureBounds),
    hastyCall: await caller({ ...ensureBounds, convergeWithinMs: 50 }),
    advance: () => {
      clock.advance(quietMs);
      counterpart.advance(quietMs);
    },
  };
}

const statuses = [400, 401, 402, 403, 404, 409, 422, 429, 500, 502, 503, 504];

interface Cell {
  readonly title: string;
  readonly fault: Fault;
  readonly proves: ErrorClass;
  readonly effect: boolean;
  /** Its time-out is over when the provider has fallen silent. */
  readonly hasty?: true;
}

function cellsOf({ classes, passing }: EnsureSubject): readonly Cell[] {
  const own = statuses.map((status): Cell => ({
    title: `${status} of its own`,
    fault: { refuse: status },
    proves: classes[status] ?? "unknown",
    effect: false,
  }));
  const inDoubt: readonly (readonly [title: string, fault: Fault, effect: boolean])[] = [
    ...[404, 409, 429, 502, 504].flatMap((gateway) =>
      [false, true].map(
        (effect) =>
          [
            `${gateway} of a gateway ${effect ? "after" : "without"} it`,
            { gateway, effect },
            effect,
          ] as const,
      ),
    ),
    ["a reset without it", { reset: "before" }, false],
    ["a reset after it", { reset: "after" }, true],
    ["a truncated answer", { truncate: true }, true],
    ["no answer, without it", { hang: "before" }, false],
    ["no answer, after it", { hang: "after" }, true],
  ];
  const others = inDoubt.map(([title, fault, effect]): Cell => ({
    title,
    fault,
    proves: "unknown",
    effect,
    // Some SDKs wait for the other half of an answer.
    ...("hang" in fault || "truncate" in fault ? { hasty: true } : {}),
  }));
  const passed = passingFaults(passing).map(({ why, fault }): Cell => ({
    title: why,
    fault,
    proves: "not-executed",
    effect: false,
  }));
  return [...own, ...passed, ...others];
}

/** Registers the suite for one tool, on both stores. */
export function describeEnsureAdapter(subject: EnsureSubject): void {
  describeStores(subject.title, (suite) => {
    // What an error proves has nothing to do with the store, so one of them sees every cell.
    const cells = cellsOf(subject).filter(
      ({ fault }) => suite.kind === "sqlite" || "reset" in fault || "truncate" in fault,
    );
    describe("a change that meets", () => {
      it.each(cells)("$title proves: $proves", async ({ fault, proves, effect, hasty }) => {
        const runtime = ringingRuntime(ensureBounds.timeoutMs);
        const { counterpart, call, hastyCall, advance } = await ensureScene(
          subject,
          suite,
          (options) => createGuard({ ...options, runtime }),
        );
        counterpart.fault(fault);
        const calling = (effect ? call : hastyCall)();
        if (hasty === true) {
          await Promise.race([counterpart.silent(), calling]);
          runtime.ring();
        }
        const told = await calling;
        expect(counterpart.sends, "sends of one change").toHaveLength(1);
        expect(counterpart.effects).toHaveLength(effect ? 1 : 0);
        if (effect) {
          expect(told).toBe("CHANGED");
          expect(await call()).toBe("THERE");
        } else if (proves === "definitive" || proves === "refused") {
          expect([told, await call()]).toEqual(["OPERATION_FAILED", "OPERATION_FAILED"]);
          expect(counterpart.sends).toHaveLength(1);
          expect(await call({ size: 2, version: 2 })).toBe("CHANGED");
        } else {
          expect(told).toBe(proves === "unknown" ? "OUTCOME_UNKNOWN" : "NOT_SENT");
          if (proves === "unknown") {
            expect(await hastyCall(), "while it may still land").toBe("OUTCOME_UNKNOWN");
            expect(counterpart.sends).toHaveLength(1);
            advance();
          }
          expect(await call()).toBe("CHANGED");
        }
        expect(counterpart.effects).toHaveLength(1);
      });
    });

    const play = async ({
      counterpart,
      call,
      hastyCall,
      opened,
      advance,
    }: EnsureScene): Promise<void> => {
      counterpart.fault({ gateway: 504, effect: false });
      expect(await hastyCall()).toBe("OUTCOME_UNKNOWN");
      advance();
      expect(await call()).toBe("CHANGED");
      expect(await call()).toBe("THERE");
      counterpart.fault({ gateway: 504, effect: true });
      expect(await call({ size: 2, version: 2 })).toBe("CHANGED");
      expect(await call()).toBe("STALE_VERSION");
      expect(counterpart.effects).toHaveLength(2);
      expect(counterpart.sends).toHaveLength(3);
      const page = { review: false, limit: 10, after: null, status: null };
      expect(await opened.store.list({ tenant: "acme", operation: null, ...page })).toHaveLength(3);
    };
    it("lost answers, repeats and an older version make one change per version", async () => {
      await play(await ensureScene(subject, suite));
    });
    it("that breaks under a pass-through guard", async () => {
      const bare = await ensureScene(subject, suite, passThroughGuard);
      await expect(play(bare)).rejects.toThrow();
    });

    it("twenty callers at once make one change", async () => {
      const { counterpart, call } = await ensureScene(subject, suite);
      const told = await Promise.all(Array.from({ length: 20 }, () => call()));
      expect(told.filter((each) => each === "CHANGED")).toHaveLength(1);
      const others = told.filter((each) => each !== "CHANGED");
      expect(others.filter((each) => each !== "IN_PROGRESS" && each !== "THERE")).toEqual([]);
      expect(await call()).toBe("THERE");
      expect([counterpart.sends.length, counterpart.effects.length]).toEqual([1, 1]);
    });
  });
}
