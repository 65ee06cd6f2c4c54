/**
 * What callers of `ensure` can be told: what is known, what is not, and whether the same call is safe.
 *
 * @module
 */
import { NeverTwiceError } from "../base/errors.ts";
import type { TargetRecord } from "../ledger/targets.ts";

/** A newer desired state is recorded. */
export function staleVersion(row: TargetRecord, version: number): NeverTwiceError {
  return new NeverTwiceError(
    "STALE_VERSION",
    `Version ${version} of ${row.target} is older than version ${row.version}, which is recorded, so it is not applied by this call. The same call gives this same answer.`,
    { details: { ...facts(row), given: version } },
  );
}

/** The version is recorded with another desired state. */
export function mismatch(row: TargetRecord): NeverTwiceError {
  return new NeverTwiceError(
    "PAYLOAD_MISMATCH",
    `Version ${row.version} of ${row.target} is already recorded with another desired state. This call changed nothing. Another desired state needs a higher version.`,
    { details: facts(row) },
  );
}

/** Another call has the target. */
export function busyTarget(row: TargetRecord): NeverTwiceError {
  const retryAfterMs = Math.min(Math.max(1000, row.leaseUntilMs - row.readAtMs), 60_000);
  return new NeverTwiceError(
    "IN_PROGRESS",
    `Another call is bringing ${row.target} into its state right now. This call changed nothing. The same call is safe.`,
    { details: { ...facts(row), retryAfterMs } },
  );
}

/** The desired state was not seen in time. */
export function doubtful(row: TargetRecord, isUnderWay: boolean, reason: string): NeverTwiceError {
  const quietMs = Math.max(1000, row.quietUntilMs - row.readAtMs);
  const details = { ...facts(row), reason, retryAfterMs: Math.min(quietMs, 60_000) };
  if (row.status === "ARMED" || isUnderWay) {
    return new NeverTwiceError(
      "OUTCOME_UNKNOWN",
      `A change of ${row.target} was sent, or may have been, and whether the desired state is there is not known (${reason}). The same call is safe: it looks before it changes anything.`,
      { details },
    );
  }
  return new NeverTwiceError(
    "NOT_SENT",
    `Whether ${row.target} is in the desired state is not known (${reason}). Nothing was sent, and no change is under way. The same call is safe.`,
    { details },
  );
}

/** @throws {NeverTwiceError} INTENT_INVALID for what can't be compared. */
export function checkedVersion(version: unknown): number {
  if (typeof version === "number" && Number.isSafeInteger(version) && version >= 0) return version;
  throw new NeverTwiceError(
    "INTENT_INVALID",
    "`version` must be a whole number of at least zero: it says which desired state is newer. Nothing was recorded and nothing was sent.",
    { details: { version: typeof version === "number" ? version : typeof version } },
  );
}

function facts({ target, version, round, status }: TargetRecord): Record<string, unknown> {
  return { target, version, round, status };
}
