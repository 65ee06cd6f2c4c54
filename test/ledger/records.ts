/**
 * Operations and policies for the tests of pure functions: one plain record, and arbitrary ones.
 */
import fc from "fast-check";
import type { Finding, LookUpTimes, ReconcilePolicy } from "../../src/ledger/decide.ts";
import type { OperationRecord } from "../../src/ledger/record.ts";
import { statuses } from "../../src/ledger/status.ts";
import type { Bounds } from "../../src/ledger/window.ts";

/** Armed once, in progress, its lease alive. */
export function recordWith(change: Partial<OperationRecord> = {}): OperationRecord {
  return {
    tenant: "acme",
    key: "k".repeat(64),
    keyAlgorithm: "jcs-sha256/1",
    operation: "refund",
    tool: "issue_refund",
    intent: '"refund:order-8812"',
    fingerprint: "f",
    arguments: '{"orderId":"8812"}',
    status: "IN_PROGRESS",
    token: 7,
    acquisitionId: "theirs",
    leaseUntilMs: 2000,
    generation: 0,
    attempts: 1,
    attemptsInGeneration: 1,
    firstArmedAtMs: 1000,
    lastArmedAtMs: 1000,
    quietUntilMs: 5000,
    wireKey: "w",
    resultKind: null,
    result: null,
    error: null,
    providerId: null,
    reviewReason: null,
    incident: null,
    lookAlike: null,
    supersedes: null,
    supersededBy: null,
    version: 1,
    journalSeq: 2,
    retentionMs: 1_000_000,
    createdAtMs: 1000,
    settledAtMs: null,
    purgedAtMs: null,
    sweeps: 0,
    readAtMs: 1500,
    ...change,
  };
}

const time = fc.integer({ min: 0, max: 10_000 });
const span = fc.integer({ min: 0, max: 3000 });

export const anyBounds: fc.Arbitrary<Bounds> = fc.record({
  sendWithinMs: span,
  flightMs: span,
  marginMs: span,
  lookUpLagMs: fc.option(span, { nil: undefined }),
  retentionMs: fc.option(fc.integer({ min: 0, max: 20_000 }), { nil: undefined }),
});

export const anyPolicy: fc.Arbitrary<ReconcilePolicy> = fc.record({
  mode: fc.constantFrom("strict", "window", "proved-absence"),
  bounds: anyBounds,
  resendable: fc.boolean(),
  replaysDeclines: fc.boolean(),
  authoritative: fc.boolean(),
  hasLookUp: fc.boolean(),
  maxAttempts: fc.integer({ min: 1, max: 12 }),
  giveUpAfterMs: span,
});

export const anyFinding: fc.Arbitrary<Finding> = fc.oneof(
  fc.constantFrom<Finding>({ kind: "succeeded" }, { kind: "pending" }, { kind: "failed" }),
  fc.boolean().map((final): Finding => ({ kind: "absent", final })),
  fc.constantFrom<Finding>(
    { kind: "contradiction", reason: "two effects" },
    { kind: "unsure", reason: "no answer" },
  ),
);

export const anyTimes: fc.Arbitrary<LookUpTimes> = fc
  .tuple(fc.integer({ min: 0, max: 40_000 }), span)
  .map(([startedAtMs, tookMs]) => ({ startedAtMs, nowMs: startedAtMs + tookMs }));

/** Sound rows of every status. */
export const anyRecord: fc.Arbitrary<OperationRecord> = fc
  .record({
    status: fc.constantFrom(...statuses),
    fingerprint: fc.constantFrom("f", "g"),
    acquisitionId: fc.constantFrom("mine", "theirs"),
    leaseUntilMs: time,
    readAtMs: time,
    attempts: fc.integer({ min: 0, max: 5 }),
    earlier: fc.integer({ min: 0, max: 5 }),
    firstArmedAtMs: time,
    armedForMs: span,
    quietMs: span,
    purged: fc.boolean(),
    incident: fc.option(fc.constant("an effect exists")),
  })
  .map(({ earlier, armedForMs, quietMs, purged, attempts, ...rest }) => {
    const lastArmedAtMs = rest.firstArmedAtMs + armedForMs;
    const settled = rest.status === "DONE" || rest.status === "FAILED";
    return recordWith({
      ...rest,
      attempts: attempts + earlier,
      attemptsInGeneration: attempts,
      generation: Number(earlier > 0),
      firstArmedAtMs: attempts === 0 ? null : rest.firstArmedAtMs,
      lastArmedAtMs: attempts + earlier === 0 ? null : lastArmedAtMs,
      quietUntilMs: attempts + earlier === 0 ? 0 : lastArmedAtMs + quietMs,
      resultKind: rest.status === "DONE" ? "undefined" : null,
      error: rest.status === "FAILED" ? '{"message":"refused"}' : null,
      purgedAtMs: settled && purged ? rest.readAtMs : null,
    });
  });
