import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  decide,
  decideNext,
  mayFail,
  mayResend,
  nothingSent,
  quietUntilMs,
} from "../../src/ledger/decide.ts";
import type { OperationRecord } from "../../src/ledger/record.ts";
import { quietSpanMs } from "../../src/ledger/window.ts";
import { anyFinding, anyPolicy, anyRecord, anyTimes, recordWith } from "./records.ts";

const call = { fingerprint: "f", acquisitionId: "mine" };

function decided(change: Partial<OperationRecord>): string {
  return decide(recordWith(change), call).kind;
}

describe("decide", () => {
  it("says what each row means to a call", () => {
    const done = { status: "DONE", resultKind: "json", result: "1" } as const;
    const failed = { status: "FAILED", error: "{}" } as const;
    expect([
      decided(done),
      decided({ ...done, incident: "a second effect" }),
      decided(failed),
      decided({ ...failed, incident: "an effect exists" }),
      decided({ status: "NEEDS_REVIEW" }),
      decided({ status: "UNKNOWN" }),
      decided({ leaseUntilMs: 1501 }),
      decided({ leaseUntilMs: 1500 }),
      decided({ acquisitionId: "mine" }),
      decided({ ...done, purgedAtMs: 1400 }),
      decided({ fingerprint: "other" }),
      decided({ status: "LOST" as never }),
    ]).toEqual([
      "replay",
      "replay",
      "failed",
      "review",
      "review",
      "take-over",
      "in-progress",
      "take-over",
      "execute",
      "expired",
      "mismatch",
      "corrupt",
    ]);
  });

  it("says how long the lease of another has to run", () => {
    expect(decide(recordWith({ leaseUntilMs: 1800 }), call)).toEqual({
      kind: "in-progress",
      leaseLeftMs: 300,
    });
  });

  it("checks the payload before the status, and readability before both", () => {
    fc.assert(
      fc.property(anyRecord, (record) => {
        const { kind } = decide(record, call);
        expect(kind === "mismatch").toBe(record.fingerprint !== "f");
        expect(decide({ ...record, attempts: Number.NaN }, call).kind).toBe("corrupt");
      }),
    );
  });

  it("says nothing that the row doesn't bear out, whatever the row", () => {
    fc.assert(
      fc.property(anyRecord, (record) => {
        const { status, leaseUntilMs, readAtMs, purgedAtMs, incident } = record;
        const inProgress = status === "IN_PROGRESS";
        const leaseOver = leaseUntilMs <= readAtMs;
        const borneOut = {
          corrupt: false,
          mismatch: record.fingerprint !== call.fingerprint,
          expired: purgedAtMs !== null,
          replay: status === "DONE" && purgedAtMs === null,
          failed: status === "FAILED" && incident === null,
          review: status === "NEEDS_REVIEW" || (status === "FAILED" && incident !== null),
          execute: inProgress && record.acquisitionId === "mine",
          "in-progress": inProgress && !leaseOver,
          "take-over": status === "UNKNOWN" || (inProgress && leaseOver),
        };
        expect(borneOut[decide(record, call).kind]).toBe(true);
      }),
    );
  });

  it("never lets two calls execute one row", () => {
    fc.assert(
      fc.property(anyRecord, (record) => {
        const other = decide(record, { fingerprint: "f", acquisitionId: "another" });
        expect(other.kind).not.toBe("execute");
      }),
    );
  });
});

const open = anyRecord.map((record) => Object.assign(record, { status: "IN_PROGRESS" as const }));

function property(
  check: (
    record: OperationRecord,
    step: ReturnType<typeof decideNext>,
    given: {
      finding: Parameters<typeof decideNext>[1];
      policy: Parameters<typeof decideNext>[2];
      times: Parameters<typeof decideNext>[3];
    },
  ) => void,
): void {
  fc.assert(
    fc.property(open, anyFinding, anyPolicy, anyTimes, (record, finding, policy, times) => {
      const step = decideNext(record, finding, policy, times);
      check(record, step, { finding, policy, times });
    }),
    { numRuns: 2000 },
  );
}

describe("decideNext", () => {
  it("sends for the first time exactly when nothing of this generation was sent", () => {
    property((record, step) => {
      expect(step.kind === "arm").toBe(nothingSent(record));
    });
  });

  it("completes exactly what was found to have succeeded", () => {
    property((record, step, { finding }) => {
      if (nothingSent(record)) return;
      expect(step.kind === "complete").toBe(finding.kind === "succeeded");
    });
  });

  it("resends only under a key that is safe and surely remembered (R19)", () => {
    property((record, step, { policy, finding, times }) => {
      if (step.kind !== "resend") return;
      const { flightMs, sendWithinMs, marginMs, retentionMs } = policy.bounds;
      expect(policy.mode).not.toBe("strict");
      expect(policy.resendable).toBe(true);
      expect(["absent", "unsure"]).toContain(finding.kind);
      expect(record.attemptsInGeneration).toBeLessThan(policy.maxAttempts);
      const firstMs = record.firstArmedAtMs ?? Number.NaN;
      // Of a clock that stepped back, see below.
      if (times.nowMs < firstMs) return;
      expect(times.nowMs + flightMs + sendWithinMs + marginMs).toBeLessThan(
        firstMs + (retentionMs ?? Number.NaN),
      );
    });
  });

  it("doesn't resend where there is no window, also when the clock has stepped back", () => {
    const bounds = { sendWithinMs: 100, flightMs: 10_000, marginMs: 100, retentionMs: 1000 };
    const short = { ...policy, mode: "proved-absence", bounds } as const;
    const stepped = { startedAtMs: 900, nowMs: 900 };
    expect(decideNext(recordWith(), unsure, short, stepped).kind).toBe("wait");
  });

  it("takes a new key only for a proved absence, and only where that was opted for (R21)", () => {
    property((record, step, { policy, finding, times }) => {
      if (step.kind !== "renew-key") return;
      expect(policy).toMatchObject({ mode: "proved-absence", authoritative: true });
      expect(finding.kind).toBe("absent");
      expect(times.startedAtMs).toBeGreaterThan(record.quietUntilMs);
      expect(times.startedAtMs).toBeGreaterThan(
        (record.lastArmedAtMs ?? Number.NaN) + quietSpanMs(policy.bounds),
      );
    });
  });

  it("fails only what failed as the only attempt, or was proved absent for ever (R13)", () => {
    property((record, step, { policy, finding, times }) => {
      if (step.kind !== "fail") return;
      const alone = record.attemptsInGeneration === 1 || policy.replaysDeclines;
      const quiet = times.startedAtMs > quietUntilMs(record, policy.bounds);
      const final = finding.kind === "absent" && finding.final;
      const proved = final && policy.authoritative && quiet;
      expect(finding.kind === "failed" ? alone : proved).toBe(true);
    });
  });

  it("a strict tool never sends again", () => {
    property((record, step, { policy }) => {
      if (policy.mode !== "strict" || nothingSent(record)) return;
      expect(["complete", "fail", "wait", "review"]).toContain(step.kind);
    });
  });

  it("hands every contradiction to a person", () => {
    property((record, step, { finding }) => {
      if (nothingSent(record) || finding.kind !== "contradiction") return;
      expect(step).toEqual({ kind: "review", reason: "two effects" });
    });
  });

  it("waits only while that can bring news, and never beyond the time to give up", () => {
    property((record, step, { policy, times, finding }) => {
      if (step.kind !== "wait") return;
      const quietAtMs = quietUntilMs(record, policy.bounds);
      const settled = times.startedAtMs > quietAtMs || finding.kind === "pending";
      expect(policy.hasLookUp || finding.kind === "pending").toBe(true);
      expect(step.untilMs).toBe(settled ? times.nowMs : quietAtMs + 1);
      expect(settled ? times.nowMs : 0).toBeLessThanOrEqual(quietAtMs + policy.giveUpAfterMs);
    });
  });

  it("gives a reason for every wait and every review", () => {
    property((_, step) => {
      expect("reason" in step).toBe(step.kind === "wait" || step.kind === "review");
      expect("reason" in step ? step.reason : "none").not.toBe("");
    });
  });

  it("comes to each of its steps in these properties", () => {
    const kinds = new Set<string>();
    property((_, step) => void kinds.add(step.kind));
    expect([...kinds].toSorted()).toEqual([
      "arm",
      "complete",
      "fail",
      "renew-key",
      "resend",
      "review",
      "wait",
    ]);
  });

  const base = { startedAtMs: 6000, nowMs: 6000 };
  const policy = {
    mode: "window",
    bounds: { sendWithinMs: 100, flightMs: 100, marginMs: 100, retentionMs: 10_000 },
    resendable: true,
    replaysDeclines: false,
    authoritative: true,
    hasLookUp: true,
    maxAttempts: 3,
    giveUpAfterMs: 1000,
  } as const;
  const absent = { kind: "absent", final: false } as const;
  const unsure = { kind: "unsure", reason: "no answer" } as const;

  it("says why a person is asked, each case in its own words", () => {
    const closed = { ...policy, resendable: false };
    const noLookUp = { ...policy, hasLookUp: false };
    const tired = recordWith({ attempts: 3, attemptsInGeneration: 3 });
    const late = { startedAtMs: 9000, nowMs: 20_000 };
    const reasons = [
      decideNext(recordWith(), absent, closed, base),
      decideNext(recordWith(), unsure, closed, { startedAtMs: 9000, nowMs: 9000 }),
      decideNext(recordWith(), unsure, noLookUp, late),
      decideNext(recordWith(), unsure, { ...noLookUp, mode: "strict" }, base),
      decideNext(recordWith(), unsure, { ...noLookUp, resendable: false }, base),
      decideNext(tired, unsure, noLookUp, base),
      decideNext(tired, absent, policy, base),
      decideNext(recordWith({ attemptsInGeneration: 2 }), { kind: "failed" }, policy, base),
      decideNext(recordWith(), { kind: "pending" }, policy, late),
    ];
    expect(reasons.map((step) => step.kind)).toEqual(Array(9).fill("review"));
    expect(new Set(reasons.map((step) => ("reason" in step ? step.reason : ""))).size).toBe(7);
    const causes = reasons.map((step) => ("cause" in step ? step.cause : undefined));
    expect(causes.filter((cause) => cause === "WINDOW_CLOSED")).toHaveLength(1);
    expect(causes[2]).toBe("WINDOW_CLOSED");
  });

  it("waits, resends, renews and fails at the very moments that the rules name", () => {
    const strict = { ...policy, mode: "strict" } as const;
    const renewing = { ...policy, mode: "proved-absence", resendable: false } as const;
    const at = (startedAtMs: number, nowMs = startedAtMs): typeof base => ({ startedAtMs, nowMs });
    const kinds = [
      decideNext(recordWith(), absent, strict, at(5000)),
      decideNext(recordWith(), absent, strict, at(5001)),
      decideNext(recordWith(), unsure, strict, at(5001, 6000)),
      decideNext(recordWith(), unsure, strict, at(5001, 6001)),
      decideNext(recordWith(), unsure, policy, at(5001, 10_699)),
      decideNext(recordWith(), unsure, policy, at(5001, 10_700)),
      decideNext(recordWith(), absent, renewing, at(5000)),
      decideNext(recordWith(), absent, renewing, at(5001)),
      decideNext(recordWith(), { kind: "absent", final: true }, strict, at(5000)),
      decideNext(recordWith(), { kind: "absent", final: true }, strict, at(5001)),
      decideNext(recordWith(), { kind: "pending" }, strict, at(5001, 6000)),
      decideNext(recordWith(), { kind: "pending" }, strict, at(5001, 6001)),
    ].map((step) => step.kind);
    expect(kinds).toEqual([
      "wait",
      "review",
      "wait",
      "review",
      "resend",
      "review",
      "wait",
      "renew-key",
      "wait",
      "fail",
      "wait",
      "review",
    ]);
  });
});

describe("the parts of a decision", () => {
  it("the quiet time follows row and contract, whichever is later", () => {
    const bounds = { sendWithinMs: 1, flightMs: 2, marginMs: 3 };
    expect(quietUntilMs(recordWith({ quietUntilMs: 5000 }), bounds)).toBe(5000);
    expect(quietUntilMs(recordWith({ quietUntilMs: 5 }), bounds)).toBe(1006);
    expect(quietUntilMs(recordWith({ quietUntilMs: 0, lastArmedAtMs: null }), bounds)).toBe(6);
  });

  it("what was never armed is never sent again, and may not fail but by its contract", () => {
    fc.assert(
      fc.property(anyPolicy, anyTimes, (policy, { nowMs }) => {
        const unarmed = recordWith({ attempts: 0, attemptsInGeneration: 0, firstArmedAtMs: null });
        expect(mayResend(unarmed, policy, nowMs)).toBe(false);
        expect(mayFail(unarmed, policy)).toBe(policy.replaysDeclines);
      }),
    );
  });
});
