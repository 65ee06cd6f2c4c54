/**
 * The protocol's decisions. Pure: a record and what is known go in, one of a closed set of decisions
 * comes out, and the guard only acts on it.
 *
 * @module
 */
import { type OperationRecord, findRecordFault } from "./record.ts";
import { type Bounds, quietSpanMs, resendSpanMs } from "./window.ts";

/** What a call brings to the row it meets. */
export interface Call {
  readonly fingerprint: string;
  /** Made anew for each call; tells our own claim from another's after a lost acknowledgement (R8). */
  readonly acquisitionId: string;
}

/** What to do about a row that a claim met. */
export type Decision =
  | { readonly kind: "corrupt"; readonly reason: string }
  | { readonly kind: "mismatch" }
  | { readonly kind: "expired" }
  | { readonly kind: "replay" }
  | { readonly kind: "failed" }
  | { readonly kind: "review" }
  | { readonly kind: "execute" }
  | { readonly kind: "in-progress"; readonly leaseLeftMs: number }
  | { readonly kind: "take-over" };

/** The payload is checked before the status, so that a changed call never sees another's result. */
export function decide(record: OperationRecord, call: Call): Decision {
  const fault = findRecordFault(record);
  if (fault !== undefined) return { kind: "corrupt", reason: fault };
  if (record.fingerprint !== call.fingerprint) return { kind: "mismatch" };
  if (record.purgedAtMs !== null) return { kind: "expired" };
  switch (record.status) {
    case "DONE":
      return { kind: "replay" };
    case "FAILED":
      // Evidence of an effect came after all: nobody may be told FAILED any more (S2).
      return { kind: record.incident === null ? "failed" : "review" };
    case "NEEDS_REVIEW":
      return { kind: "review" };
    case "UNKNOWN":
      return { kind: "take-over" };
    case "IN_PROGRESS":
      return decideInProgress(record, call);
    default:
      return { kind: "corrupt", reason: `the status ${String(record.status)} is not known` };
  }
}

function decideInProgress(record: OperationRecord, call: Call): Decision {
  if (record.acquisitionId === call.acquisitionId) return { kind: "execute" };
  const leaseLeftMs = record.leaseUntilMs - record.readAtMs;
  return leaseLeftMs > 0 ? { kind: "in-progress", leaseLeftMs } : { kind: "take-over" };
}

/** How far a tool may go when an outcome is in doubt (R21). */
export type Mode = "strict" | "window" | "proved-absence";

/** What a contract allows after a doubt. */
export interface ReconcilePolicy {
  readonly mode: Mode;
  readonly bounds: Bounds;
  /** The key is atomic and safe after errors, and its retention is known (R19). */
  readonly resendable: boolean;
  /** The provider answers a resend of a declined key with the same decline. */
  readonly replaysDeclines: boolean;
  /** The look-up's "absent" counts as proof once everything has settled. */
  readonly authoritative: boolean;
  readonly hasLookUp: boolean;
  /** Armed sends, over all generations, before a person is asked. */
  readonly maxAttempts: number;
  /** How long after settling an unsure look-up is asked again before a person is. */
  readonly giveUpAfterMs: number;
}

/** What the look-up said, as far as deciding goes. */
export type Finding =
  | { readonly kind: "succeeded" }
  | { readonly kind: "pending" }
  | { readonly kind: "failed" }
  | { readonly kind: "contradiction"; readonly reason: string }
  | { readonly kind: "absent"; readonly final: boolean }
  | { readonly kind: "unsure"; readonly reason: string };

/** What to do with an operation that we own and whose attempts may have landed. */
export type NextStep =
  | { readonly kind: "arm" }
  | { readonly kind: "complete" }
  | { readonly kind: "fail" }
  | { readonly kind: "resend" }
  | { readonly kind: "renew-key" }
  | { readonly kind: "wait"; readonly untilMs: number; readonly reason: string }
  /** `cause` names the rule that a person is asked because of, where an error code does. */
  | { readonly kind: "review"; readonly reason: string; readonly cause?: "WINDOW_CLOSED" };

/** The database's times around a look-up. */
export interface LookUpTimes {
  /** Not later than the look-up's start. */
  readonly startedAtMs: number;
  readonly nowMs: number;
}

/** True when nothing of this generation has left: sending is then no resend. */
export function nothingSent(record: OperationRecord): boolean {
  return record.attemptsInGeneration === 0;
}

/** From then on an absence is evidence, by the row and by the contract as it reads today. */
export function quietUntilMs(record: OperationRecord, bounds: Bounds): number {
  return Math.max(record.quietUntilMs, (record.lastArmedAtMs ?? 0) + quietSpanMs(bounds));
}

/** Decides after a look-up (R18–R21). Whatever doesn't fit goes to a person. */
export function decideNext(
  record: OperationRecord,
  finding: Finding,
  policy: ReconcilePolicy,
  times: LookUpTimes,
): NextStep {
  if (nothingSent(record)) return { kind: "arm" };
  switch (finding.kind) {
    case "succeeded":
      return { kind: "complete" };
    case "pending":
      return decidePending(record, policy, times);
    case "contradiction":
      return { kind: "review", reason: finding.reason };
    case "failed":
      return mayFail(record, policy)
        ? { kind: "fail" }
        : {
            kind: "review",
            reason:
              "the provider shows an effect that did not succeed, but another attempt may have landed",
          };
    case "absent":
    case "unsure":
      return decideUnfound(record, finding, policy, times);
  }
}

/** True when an operation has been in doubt for so long that a person is to be asked. */
export function isOverdue(
  record: OperationRecord,
  policy: ReconcilePolicy,
  nowMs = record.readAtMs,
): boolean {
  return nowMs > quietUntilMs(record, policy.bounds) + policy.giveUpAfterMs;
}

function decidePending(
  record: OperationRecord,
  policy: ReconcilePolicy,
  times: LookUpTimes,
): NextStep {
  return !isOverdue(record, policy, times.nowMs)
    ? { kind: "wait", untilMs: times.nowMs, reason: "the provider is still working on it" }
    : { kind: "review", reason: "the provider has been working on it for too long" };
}

function decideUnfound(
  record: OperationRecord,
  finding: Extract<Finding, { kind: "absent" | "unsure" }>,
  policy: ReconcilePolicy,
  times: LookUpTimes,
): NextStep {
  const quietAtMs = quietUntilMs(record, policy.bounds);
  const proved = finding.kind === "absent" && policy.authoritative && times.startedAtMs > quietAtMs;
  if (proved && finding.final) return { kind: "fail" };
  const tired = record.attempts >= policy.maxAttempts;
  if (!tired && mayResend(record, policy, times.nowMs)) return { kind: "resend" };
  if (!tired && proved && policy.mode === "proved-absence") return { kind: "renew-key" };
  if (!policy.hasLookUp) return tired ? tiredReview : reviewWithoutLookUp(policy);
  if (times.startedAtMs <= quietAtMs) {
    return { kind: "wait", untilMs: quietAtMs + 1, reason: "a request may still be on its way" };
  }
  if (finding.kind === "unsure" && !isOverdue(record, policy, times.nowMs)) {
    return {
      kind: "wait",
      untilMs: times.nowMs,
      reason: "the look-up is unsure",
    };
  }
  return tired ? tiredReview : { kind: "review", reason: unfoundReasons[finding.kind] };
}

/** True while sending the same request again can't make a second effect (R19). */
export function mayResend(
  record: OperationRecord,
  policy: ReconcilePolicy,
  nowMs: number,
): boolean {
  if (policy.mode === "strict" || !policy.resendable || record.firstArmedAtMs === null)
    return false;
  const spanMs = resendSpanMs(policy.bounds);
  // No window is no window, also after the clock has stepped back behind the first arm.
  return spanMs > 0 && nowMs < record.firstArmedAtMs + spanMs;
}

/** True when a definitive refusal settles the operation: no other attempt can have landed (R13). */
export function mayFail(record: OperationRecord, policy: ReconcilePolicy): boolean {
  return record.attemptsInGeneration === 1 || policy.replaysDeclines;
}

const tiredReview: NextStep = {
  kind: "review",
  reason: "the limit of attempts is reached and the outcome is still in doubt",
};

const unfoundReasons = {
  absent: "the look-up finds nothing, and that alone doesn't prove that nothing happened",
  unsure: "the look-up stayed unsure for too long",
};

function reviewWithoutLookUp(policy: ReconcilePolicy): NextStep {
  return policy.mode !== "strict" && policy.resendable
    ? {
        kind: "review",
        reason: "the provider may have forgotten the key, and it can't be asked what happened",
        cause: "WINDOW_CLOSED",
      }
    : {
        kind: "review",
        reason:
          "the provider can't be asked what happened, and sending again could double the effect",
      };
}
