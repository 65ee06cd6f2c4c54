/**
 * Everything that a caller, and through it a model, can be told. Each text says what is known, what
 * is not, and whether the same call is safe (R29). An unknown outcome is never called a failure.
 *
 * @module
 */
import { formatSpan } from "../base/duration.ts";
import { NeverTwiceError, errorText } from "../base/errors.ts";
import type { JsonObject } from "../base/plain-json.ts";
import { differingFields, restoreArguments } from "../intent/business-arguments.ts";
import type { OperationRecord } from "../ledger/record.ts";
import type { PreparedCall } from "./prepare.ts";

/** Why a result is not stored; what it was is known to the first caller alone. */
export interface OmittedResult {
  readonly reason: string;
  readonly path?: string;
  readonly bytes?: number;
}

/** The answer of `guard.run`. */
export interface Outcome<Result> {
  /** The stored result. Undefined on a replay of a result that couldn't be stored: see `omitted`. */
  readonly value: Result;
  readonly status: "DONE";
  /** True: nothing was executed by this call; this is the stored outcome of an earlier one. */
  readonly replayed: boolean;
  /** False: the effect exists, but the store couldn't be told; the next call finds out by looking. */
  readonly recorded: boolean;
  /** Null for a tool that goes straight through. */
  readonly key: string | null;
  readonly attempts: number;
  /** ISO 8601, by the database's clock. */
  readonly firstExecutedAt: string | null;
  readonly providerId: string | null;
  /** Set when the result could not be stored. */
  readonly omitted: OmittedResult | null;
  /** The key of the intent that replaced this one, if any. */
  readonly supersededBy: string | null;
  readonly warnings: readonly string[];
  /** One line that may be shown to a model. */
  readonly text: string;
}

/** The outcome in a DONE row. `live` is the value that this very call got, if it got one. */
export function outcomeOf(
  record: OperationRecord,
  more: { replayed: boolean; warnings?: readonly string[]; live?: { value: unknown } },
): Outcome<unknown> {
  const omitted =
    record.resultKind === "omitted" ? (JSON.parse(record.result ?? "{}") as OmittedResult) : null;
  const stored =
    record.resultKind === "json" ? (JSON.parse(record.result ?? "null") as unknown) : undefined;
  const outcome = {
    value: omitted === null ? stored : more.live?.value,
    status: "DONE" as const,
    replayed: more.replayed,
    recorded: true,
    key: record.key,
    attempts: record.attempts,
    firstExecutedAt: isoTime(record.firstArmedAtMs ?? record.settledAtMs),
    providerId: record.providerId,
    omitted,
    supersededBy: record.supersededBy,
    warnings: more.warnings ?? [],
  };
  return Object.freeze({ ...outcome, text: outcomeText(outcome) });
}

function outcomeText(outcome: Omit<Outcome<unknown>, "text">): string {
  const { key, replayed, omitted, providerId, firstExecutedAt, supersededBy } = outcome;
  return [
    replayed
      ? `Already done: this intent took effect once${firstExecutedAt === null ? "" : `, first sent ${firstExecutedAt}`}. This is its stored outcome; this call sent nothing new.`
      : "Done: this intent took effect once.",
    ...(omitted === null
      ? []
      : [
          `Its result is not stored (${omitted.reason}${omitted.path === undefined ? "" : ` at ${omitted.path}`}).`,
        ]),
    ...(providerId === null ? [] : [`The provider calls it ${providerId}.`]),
    ...(supersededBy === null ? [] : [`It was replaced by the intent with key ${supersededBy}.`]),
    `Key ${key}.`,
  ].join(" ");
}

/** The outcome of a success that the store couldn't be told of (R15). */
export function unrecordedOutcome(record: OperationRecord, value: unknown): Outcome<unknown> {
  return Object.freeze({
    value,
    status: "DONE",
    replayed: false,
    recorded: false,
    key: record.key,
    attempts: record.attempts,
    firstExecutedAt: isoTime(record.firstArmedAtMs),
    providerId: null,
    omitted: null,
    supersededBy: null,
    warnings: ["the store could not be told of this success; it will be found by looking"],
    text: `Done: this intent took effect once, but that could not be recorded. The same call is safe: it looks before it sends. A changed call is not. Key ${record.key}.`,
  });
}

/** Another call has it. */
export function inProgress(record: OperationRecord): NeverTwiceError {
  const leaseLeftMs = Math.max(0, record.leaseUntilMs - record.readAtMs);
  const retryAfterMs = Math.min(Math.max(1000, leaseLeftMs), 60_000);
  return new NeverTwiceError(
    "IN_PROGRESS",
    `This intent is being executed right now by another call; its outcome is not known yet. This call sent nothing. ` +
      `The same call is safe and will bring the outcome, best in about ${formatSpan(Math.ceil(retryAfterMs / 1000) * 1000)}; a changed call is not safe. Key ${record.key}.`,
    { key: record.key, details: { ...facts(record), leaseLeftMs, retryAfterMs } },
  );
}

/** The intent is recorded with other arguments. */
export function payloadMismatch(record: OperationRecord, call: PreparedCall): NeverTwiceError {
  const fields =
    record.arguments === null ? [] : mismatchedFields(record.arguments, call.arguments.value);
  const where =
    fields.length === 0 ? "in the tool, account or endpoint" : `in ${fields.join(", ")}`;
  return new NeverTwiceError(
    "PAYLOAD_MISMATCH",
    `This intent is already recorded with other business arguments (they differ ${where}). This call sent nothing and changed nothing. ` +
      `Calling with the recorded arguments is safe; if the business wants something else now, that is a new intent that names this one and a reason. Key ${record.key}.`,
    { key: record.key, details: { ...facts(record), fields } },
  );
}

function mismatchedFields(stored: string, given: JsonObject): string[] {
  return differingFields(restoreArguments(stored).value, given);
}

/** The provider refused for good. */
export function operationFailed(record: OperationRecord): NeverTwiceError {
  const error = JSON.parse(record.error ?? "{}") as { message?: string };
  // Without an armed attempt nobody but a person can have said no.
  const known =
    record.attempts === 0
      ? "This intent was declined before anything was sent for it"
      : "The downstream refused this intent for good";
  return new NeverTwiceError(
    "OPERATION_FAILED",
    `${known}: ${error.message ?? "no reason given"}. No effect exists. The same call gives this same answer and sends nothing; ` +
      `another attempt is a new intent that names this one and a reason. Key ${record.key}.`,
    { key: record.key, details: { ...facts(record), error } },
  );
}

/** A request was sent or may have been. */
export function outcomeUnknown(
  record: OperationRecord,
  reason: string,
  retryAfterMs: number,
  cause?: unknown,
): NeverTwiceError {
  return new NeverTwiceError(
    "OUTCOME_UNKNOWN",
    `A request for this intent was sent, or may have been, and whether it took effect is not known (${reason}). ` +
      `The same call is safe: it looks before it sends. A changed call, or a new intent for the same matter, is not safe. Key ${record.key}.`,
    { key: record.key, cause, details: { ...facts(record), reason, retryAfterMs } },
  );
}

/** A person has to decide. */
export function needsReview(record: OperationRecord, cause?: NeverTwiceError): NeverTwiceError {
  const reason = record.incident ?? record.reviewReason ?? "no reason given";
  const known =
    record.attempts === 0
      ? `Nothing was sent for this intent: before that, a person has been asked (${reason}) and has not decided yet.`
      : `Whether this intent took effect can't be settled by any rule (${reason}); a person has been asked and has not decided yet. This call sent nothing.`;
  return new NeverTwiceError(
    "NEEDS_REVIEW",
    `${known} The same call is safe and will bring the decision; a changed call, or a new intent for the same matter, is not safe. Key ${record.key}.`,
    { key: record.key, cause, details: { ...facts(record), reason } },
  );
}

/** A resend is not safe any more; why a person is asked. */
export function windowClosed(record: OperationRecord): NeverTwiceError {
  return new NeverTwiceError(
    "WINDOW_CLOSED",
    `The time in which the provider surely remembers this intent's key has passed, so nothing was sent again. Key ${record.key}.`,
    { key: record.key, details: facts(record) },
  );
}

/** The outcome was purged. */
export function keyExpired(record: OperationRecord): NeverTwiceError {
  return new NeverTwiceError(
    "KEY_EXPIRED",
    `This intent was settled (${record.status}) so long ago that its outcome is no longer stored. It was not run again, and the same call will give this same answer. Key ${record.key}.`,
    { key: record.key, details: facts(record) },
  );
}

/** The row can't be read. */
export function recordCorrupt(record: OperationRecord, reason: string): NeverTwiceError {
  return new NeverTwiceError(
    "RECORD_CORRUPT",
    `The stored operation can't be read (${reason}), so whether this intent took effect is not known. It was not run again and is open for review. The same call is safe and gives this same answer until a person has decided; a changed call, or a new intent for the same matter, is not safe. Key ${record.key}.`,
    { key: record.key, details: { reason } },
  );
}

/** Nothing left this call's socket. */
export function notSent(record: OperationRecord, cause: unknown): NeverTwiceError {
  return new NeverTwiceError(
    "NOT_SENT",
    `This call's request did not leave (${errorText(cause)}), and no earlier request is on its way: no effect exists from it. The same call is safe. Key ${record.key}.`,
    { key: record.key, cause, details: facts(record) },
  );
}

/** Another worker took over while we were at it. */
export function leaseLost(record: OperationRecord): NeverTwiceError {
  return new NeverTwiceError(
    "LEASE_LOST",
    `Another worker took this operation over, and its outcome is not known yet. The same call is safe and will bring the outcome; a changed call is not safe. Key ${record.key}.`,
    { key: record.key, details: facts(record) },
  );
}

/** The store did not confirm the claim. */
export function claimUnconfirmed(key: string, cause: NeverTwiceError): NeverTwiceError {
  return new NeverTwiceError(
    "STORE_UNAVAILABLE",
    `The store did not confirm the claim, so nothing was sent. The same call is safe. Key ${key}. (${cause.message})`,
    { key, cause, details: cause.details },
  );
}

/** The caller withdrew in time. */
export function aborted(cause: unknown): NeverTwiceError {
  return new NeverTwiceError(
    "ABORTED",
    "The caller withdrew before anything was recorded. Nothing was sent. The same call is safe.",
    { cause },
  );
}

function facts(record: OperationRecord): Record<string, unknown> {
  return {
    status: record.status,
    attempts: record.attempts,
    firstExecutedAt: isoTime(record.firstArmedAtMs),
  };
}

function isoTime(atMs: number | null): string | null {
  return atMs === null ? null : new Date(atMs).toISOString();
}
