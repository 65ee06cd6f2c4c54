/**
 * The log notices every change of order in steps that ran one after another, and none in steps that
 * ran side by side.
 */
import fc from "fast-check";
import { expect, it } from "vitest";
import { canonicalJson } from "../../src/base/canonical-json.ts";
import { StepLog } from "../../src/flow/step-log.ts";
import { readValue, storeValue } from "../../src/flow/step-value.ts";
import type { StepRecord } from "../../src/ledger/runs.ts";

const names = fc.uniqueArray(fc.string({ minLength: 1, maxLength: 4 }), {
  minLength: 2,
  maxLength: 8,
});

function recorded(name: string, position: number, concurrent = false): StepRecord {
  return {
    tenant: "acme",
    runId: "run",
    name,
    position,
    concurrent,
    kind: "decide",
    status: "DONE",
    key: null,
    fingerprint: null,
    value: null,
    startedAtMs: 0,
    settledAtMs: 0,
    readAtMs: 0,
  };
}

function replay(steps: readonly StepRecord[], order: readonly string[]): string {
  const log = new StepLog("run", steps);
  try {
    for (const name of order) {
      log.visit(name, "decide");
      log.leave(name);
    }
    log.checkComplete();
    return "fits";
  } catch (error) {
    return (error as { code: string }).code;
  }
}

it("steps in their order fit, and so does what comes after the last of them", () => {
  fc.assert(
    fc.property(names, fc.nat(8), (order, had) => {
      const steps = order.slice(0, had).map((name, position) => recorded(name, position));
      expect(replay(steps, order)).toBe("fits");
    }),
  );
});

it("any other order of steps that ran one after another is noticed", () => {
  fc.assert(
    fc.property(
      names.chain((order) => fc.tuple(fc.constant(order), fc.shuffledSubarray(order))),
      ([order, other]) => {
        const steps = order.map((name, position) => recorded(name, position));
        const same = other.length === order.length && other.every((name, at) => name === order[at]);
        expect(replay(steps, other)).toBe(same ? "fits" : "FLOW_CHANGED");
      },
    ),
  );
});

it("steps that ran side by side fit in every order, but all of them must come", () => {
  fc.assert(
    fc.property(
      names.chain((order) => fc.tuple(fc.constant(order), fc.shuffledSubarray(order))),
      ([order, other]) => {
        const steps = order.map((name, position) => recorded(name, position, true));
        expect(replay(steps, other)).toBe(other.length === order.length ? "fits" : "FLOW_CHANGED");
      },
    ),
  );
});

it("a name is taken once, whatever is recorded", () => {
  fc.assert(
    fc.property(names, (order) => {
      expect(replay([], [...order, order[0] ?? ""])).toBe("STEP_INVALID");
    }),
  );
});

it("a new step gets a place after all that are recorded", () => {
  const log = new StepLog("run", [recorded("a", 0), recorded("b", 7)]);
  expect([log.visit("a", "decide"), log.visit("b", "decide")].map((at) => at.position)).toEqual([
    0, 7,
  ]);
  expect(log.visit("c", "act")).toMatchObject({
    position: 8,
    concurrent: true,
    recorded: undefined,
  });
});

it("what a step recorded comes back equal", () => {
  const leaf = fc.oneof(fc.integer(), fc.boolean(), fc.constant(null), fc.string());
  const value = fc.oneof(leaf, fc.array(leaf), fc.dictionary(fc.string(), fc.array(leaf)));
  fc.assert(
    fc.property(value, (made) => {
      expect(canonicalJson(readValue(storeValue("step", made)))).toBe(canonicalJson(made));
    }),
  );
  expect(readValue(storeValue("step", undefined))).toBeUndefined();
});
