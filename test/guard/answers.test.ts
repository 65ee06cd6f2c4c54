import { errorText } from "../../src/base/errors.ts";
import { describe, expect, it } from "vitest";
import { inProgress, needsReview, operationFailed, outcomeOf } from "../../src/guard/answers.ts";
import { recordWith } from "../ledger/records.ts";

const done = { status: "DONE", resultKind: "json", result: '{"id":"eff_1"}' } as const;

describe("the outcome of a DONE row", () => {
  it("is frozen, and carries the stored value and not the live one", () => {
    const outcome = outcomeOf(recordWith(done), { replayed: false, live: { value: { id: "x" } } });
    expect(outcome.value).toEqual({ id: "eff_1" });
    expect(Object.isFrozen(outcome)).toBe(true);
  });

  it("carries the live value where the stored one had to be left out, and its caller has it", () => {
    const omitted = { ...done, resultKind: "omitted", result: '{"reason":"too large"}' } as const;
    const live = { value: { id: 1n } };
    expect(outcomeOf(recordWith(omitted), { replayed: false, live }).value).toBe(live.value);
    const replayed = outcomeOf(recordWith(omitted), { replayed: true });
    expect(replayed).toMatchObject({ value: undefined, omitted: { reason: "too large" } });
    expect(replayed.text).toContain("Its result is not stored (too large).");
  });

  it("was executed first when it was first armed, or settled, or nobody knows when", () => {
    const times = [
      { firstArmedAtMs: 1000, settledAtMs: 2000 },
      { firstArmedAtMs: null, settledAtMs: 2000 },
      { firstArmedAtMs: null, settledAtMs: null },
    ].map((change) => outcomeOf(recordWith({ ...done, ...change }), { replayed: true }));
    expect(times.map((outcome) => outcome.firstExecutedAt)).toEqual([
      "1970-01-01T00:00:01.000Z",
      "1970-01-01T00:00:02.000Z",
      null,
    ]);
    expect(times[2]?.text).toMatch(/^Already done: this intent took effect once\. /);
  });

  it("is told without a fault also where the contents of the row are gone", () => {
    const gone = { ...done, result: null };
    expect(outcomeOf(recordWith(gone), { replayed: true }).value).toBeNull();
    const note = { ...gone, resultKind: "omitted" } as const;
    expect(outcomeOf(recordWith(note), { replayed: true }).omitted).toEqual({});
  });
});

describe("answers that give a reason", () => {
  it("say so when there is none", () => {
    expect(operationFailed(recordWith()).message).toContain("no reason given");
    expect(operationFailed(recordWith({ error: "{}" })).message).toContain("no reason given");
    expect(needsReview(recordWith()).message).toContain("no reason given");
  });

  it("prefer the incident to the reason of an earlier review", () => {
    const record = recordWith({ incident: "two effects", reviewReason: "no look-up" });
    expect(needsReview(record).details["reason"]).toBe("two effects");
  });
});

describe("the time to come back", () => {
  it("is the rest of the lease, but a second at least and a minute at most", () => {
    const leftMs = [0, 400, 5000, 500_000].map((leaseLeftMs) => {
      const record = recordWith({ leaseUntilMs: 1500 + leaseLeftMs, readAtMs: 1500 });
      return inProgress(record).details["retryAfterMs"];
    });
    expect(leftMs).toEqual([1000, 1000, 5000, 60_000]);
    expect(inProgress(recordWith({ leaseUntilMs: 0 })).details["leaseLeftMs"]).toBe(0);
  });
});

describe("what an error says", () => {
  it("is its message, its name, or what was thrown", () => {
    expect(errorText(new Error("broken"))).toBe("broken");
    expect(errorText(new TypeError(""))).toBe("TypeError");
    expect(errorText(null)).toBe("thrown: null");
    expect(errorText("text")).toBe("thrown: text");
  });
});
