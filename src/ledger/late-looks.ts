/**
 * Late looks: closed operations are looked at again for some days, for an effect that came later than
 * every bound said (R22). Here the port that keeps how far each look has come, and what a find means.
 *
 * @module
 */
import type { OperationRecord } from "./record.ts";

/** One round of looks at a tool's closed operations: so long after they closed. */
export interface LookStage {
  readonly tool: string;
  readonly afterMs: number;
}

/** How far a stage has come: everything up to here was looked at. */
export interface LookPosition {
  readonly settledAtMs: number;
  readonly tenant: string;
  readonly key: string;
}

/** A stage that is ours until its lease ends. */
export interface LookMark extends LookPosition {
  readonly readAtMs: number;
}

export interface ClaimLooksParams extends LookStage {
  readonly leaseMs: number;
  /** Where a new stage begins: so long before its own time. Older operations are left alone. */
  readonly beginMs: number;
}

export interface FindClosedParams extends LookPosition {
  readonly tool: string;
  readonly untilMs: number;
  /** False: only those that were sent more than once, or FAILED after a send. */
  readonly all: boolean;
  readonly limit: number;
}

/**
 * Positions only move on, so a worker that was away too long does no harm: it looked at what it
 * passes. The lease is there so that many workers don't ask the provider the same.
 */
export interface LateLooks {
  /** Undefined: another is at this stage. */
  claim(params: ClaimLooksParams): Promise<LookMark | undefined>;
  /** Closed operations after the position and settled before `untilMs`, in order of position. */
  find(params: FindClosedParams): Promise<readonly OperationRecord[]>;
  /** Moves the stage on to the position, never back, and gives the lease back. */
  pass(params: LookStage & LookPosition): Promise<void>;
}

/** What a late look found, as far as judging goes. */
export interface FoundLate {
  readonly status: "succeeded" | "pending" | "failed";
  readonly providerId: string | null;
}

/**
 * Says what contradicts the stored outcome, or undefined. Absence and a single find without an id
 * contradict nothing: the one says nothing, the other may be the effect that is stored (R14).
 */
export function judgeLateFind(
  record: Pick<OperationRecord, "status" | "providerId">,
  found: readonly FoundLate[],
): string | undefined {
  const effects = found.filter((effect) => effect.status !== "failed");
  const names = effects.map((effect) => effect.providerId ?? "one without an id").join(", ");
  if (effects.length > 1)
    return `a late look found ${effects.length} effects for this intent (${names}): keep one and compensate the others`;
  const [effect] = effects;
  if (record.status === "FAILED" && effect !== undefined)
    return `a late look found an effect (${names}), although the operation had been settled as FAILED`;
  if (record.status !== "DONE" || record.providerId === null) return undefined;
  if (effect !== undefined && (effect.providerId ?? record.providerId) !== record.providerId)
    return `a late look found another effect (${names}) than the stored ${record.providerId}: check for two effects and compensate one`;
  const undone = found.find(
    (one) => one.status === "failed" && one.providerId === record.providerId,
  );
  return undone === undefined || effect !== undefined
    ? undefined
    : `a late look found that the effect ${record.providerId} has failed since: the operation is DONE without an effect`;
}
