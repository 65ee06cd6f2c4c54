/**
 * Settle: write what the attempt proved, and answer from the stored row (R13–R16).
 *
 * @module
 */
import { backOffMs, spread } from "../base/back-off.ts";
import { assert, errorText, isNeverTwiceError, storableText } from "../base/errors.ts";
import { pause } from "../base/runtime.ts";
import { mayFail } from "../ledger/decide.ts";
import type { OperationRecord } from "../ledger/record.ts";
import type { CompleteParams, FailParams, MarkUnknownParams } from "../ledger/store.ts";
import { leaseSlackMs, quietSpanMs, sweepBackOffMs } from "../ledger/window.ts";
import {
  type Outcome,
  leaseLost,
  needsReview,
  notSent,
  operationFailed,
  outcomeOf,
  outcomeUnknown,
  unrecordedOutcome,
} from "./answers.ts";
import type { ErrorClass } from "./contract.ts";
import type { GuardEnvironment } from "./environment.ts";
import type { AttemptResult, Ended } from "./execute.ts";
import { resultDigest, storeError, storeResult } from "./serialise.ts";
import { type Turn, fenced, pointOf } from "./turn.ts";

/** A success, from a call or from a look-up. */
export interface Success {
  readonly value: unknown;
  readonly providerId: string | undefined;
  readonly event: CompleteParams["event"];
}

/** Writes the attempt's outcome and answers, by a return or an error. */
export async function settle(
  env: GuardEnvironment,
  turn: Turn,
  result: AttemptResult,
): Promise<Outcome<unknown>> {
  await env.reach(pointOf(turn, "before-settle"));
  switch (result.kind) {
    case "succeeded":
      return complete(env, turn, successOf(turn, result.value));
    case "not-sent":
      return release(env, turn, result.error);
    case "raised":
      return settleError(env, turn, result.error);
    case "given-up":
      mergeLater(env, turn, result.later);
      return markUnknown(env, turn, { reason: result.reason, cause: new Error(result.reason) });
  }
}

/** What others say of an error may read like an answer; to the caller it is none (R29). */
const provesNothing = "the call ended with an error that proves nothing";

function settleError(env: GuardEnvironment, turn: Turn, error: unknown): Promise<Outcome<unknown>> {
  const errorClass = classify(turn, error);
  if (errorClass === "not-executed") return release(env, turn, error);
  const { policy } = turn.parts.terms;
  // What the provider doesn't keep under the key, it doesn't replay to an earlier attempt either.
  const replaysDeclines = policy.replaysDeclines && errorClass === "definitive";
  const isRefusal = errorClass === "definitive" || errorClass === "refused";
  if (isRefusal && mayFail(turn.record, { ...policy, replaysDeclines }))
    return fail(env, turn, error, { lookedAtMs: null, replaysDeclines });
  return markUnknown(env, turn, { reason: provesNothing, cause: error });
}

/** A classifier that throws has proved nothing. */
function classify(turn: Turn, error: unknown): ErrorClass {
  try {
    return turn.parts.contract.classify?.(error) ?? "unknown";
  } catch {
    return "unknown";
  }
}

/**
 * Complete: knowledge is merged whatever the token. If the store can't be told, it is told again
 * until the lease ends; then the caller gets the result, marked as not recorded (R15).
 */
export async function complete(
  env: GuardEnvironment,
  turn: Turn,
  success: Success,
): Promise<Outcome<unknown>> {
  const params = completeParams(turn, success);
  let record: OperationRecord;
  try {
    record = await insist(
      env,
      turn,
      async () => (await env.store.complete(params)) ?? (await compareStored(env, params)),
    );
  } catch (error) {
    const { tenant, key } = params;
    env.warn({ tenant, key, message: `a success could not be recorded: ${errorText(error)}` });
    return unrecordedOutcome(turn.record, success.value);
  }
  await env.reach(pointOf(turn, "after-settle"));
  return answerSuccess(turn, record, params, success);
}

/** Tells the store again until the lease ends: what it can't be told, others have to find out. */
async function insist<T>(env: GuardEnvironment, turn: Turn, write: () => Promise<T>): Promise<T> {
  const untilMs = Math.max(
    turn.leaseEndsAtMonotonicMs - leaseSlackMs / 2,
    env.runtime.monotonicMs() + leaseSlackMs,
  );
  for (let tries = 1; ; tries += 1) {
    try {
      return await write();
    } catch (error) {
      const waitMs = spread(env.runtime, backOffMs({ firstMs: 50, lastMs: 1000 }, tries));
      const inTime = env.runtime.monotonicMs() + waitMs <= untilMs;
      if (!isNeverTwiceError(error, "STORE_UNAVAILABLE") || !inTime) throw error;
      await pause(env.runtime, waitMs);
    }
  }
}

function answerSuccess(
  turn: Turn,
  record: OperationRecord,
  params: CompleteParams,
  success: Success,
): Outcome<unknown> {
  if (record.status !== "DONE") throw needsReview(record);
  const ours = record.resultKind === params.resultKind && record.result === params.result;
  return outcomeOf(record, {
    replayed: success.event === "operation.found",
    warnings: turn.warnings,
    ...(ours ? { live: { value: success.value } } : {}),
  });
}

/** The operation is settled already: the same effect is fine, another one is an incident (R14). */
async function compareStored(
  env: GuardEnvironment,
  params: CompleteParams,
): Promise<OperationRecord> {
  const { tenant, key } = params;
  const stored = await env.store.read({ tenant, key });
  assert(stored !== undefined, "a claimed row can't vanish");
  if (isSameEffect(stored, params)) return stored;
  const effect = params.providerId ?? "another result";
  const incident =
    stored.status === "DONE"
      ? `a second success came in (${effect}) after ${stored.providerId ?? "the stored one"}: check for two effects and compensate one`
      : `a success came in (${effect}) after the operation had been settled as ${stored.status}: an effect exists`;
  const detail = JSON.stringify({
    incident,
    providerId: params.providerId,
    result: resultDigest(params),
  });
  return (await env.store.recordIncident({ tenant, key, incident, detail })) ?? stored;
}

function isSameEffect(stored: OperationRecord, params: CompleteParams): boolean {
  if (stored.status !== "DONE") return false;
  if (stored.providerId !== null && params.providerId !== null)
    return stored.providerId === params.providerId;
  // A purged result can't be compared any more; that alone is no sign of a second effect.
  if (stored.purgedAtMs !== null) return true;
  return stored.resultKind === params.resultKind && stored.result === params.result;
}

function completeParams(turn: Turn, success: Success): CompleteParams {
  const { tenant, key } = turn.record;
  const stored = storeResult(success.value, turn.parts.terms.maxResultBytes);
  const providerId = storableId(success.providerId);
  const detail = JSON.stringify({
    result: resultDigest(stored),
    ...(providerId === null ? {} : { providerId }),
  });
  return { tenant, key, ...stored, providerId, event: success.event, detail };
}

/** An id that can't be stored must not keep an operation from being DONE. */
function storableId(id: unknown): string | null {
  return typeof id === "string" || typeof id === "number" ? storableText(String(id)) : null;
}

function successOf(turn: Turn, value: unknown): Success {
  return { value, providerId: providerIdOf(turn, value), event: "operation.completed" };
}

function providerIdOf(turn: Turn, value: unknown): string | undefined {
  try {
    return turn.parts.contract.providerId?.(value);
  } catch {
    // The effect exists; an id that can't be read must not hide that.
    return undefined;
  }
}

/** Fail: definitive, and no other attempt can have landed. FAILED is told only from the row (R16). */
export async function fail(
  env: GuardEnvironment,
  turn: Turn,
  error: unknown,
  proof: Pick<FailParams, "lookedAtMs" | "replaysDeclines">,
): Promise<Outcome<unknown>> {
  const stored = storeError(error);
  const params: FailParams = {
    ...fenced(turn),
    error: stored,
    ...proof,
    detail: JSON.stringify({ error: JSON.parse(stored) as unknown }),
  };
  const record = await insist(env, turn, () => env.store.fail(params));
  await env.reach(pointOf(turn, "after-settle"));
  if (record === undefined) return answerStale(env, turn, provesNothing, error);
  throw operationFailed(record);
}

/** Mark unknown: nobody knows, and the row says so. */
export async function markUnknown(
  env: GuardEnvironment,
  turn: Turn,
  doubt: Doubt,
): Promise<Outcome<unknown>> {
  const { reason, cause, event = "operation.unknown" } = doubt;
  const { bounds, policy } = turn.parts.terms;
  // With a look-up there is little sense in looking before all is quiet.
  const sweepAfterMs =
    doubt.sweepAfterMs ?? (policy.hasLookUp ? Math.min(quietSpanMs(bounds), 60_000) : 1000);
  const error = storeError(cause);
  const detail = JSON.stringify({ reason, error: JSON.parse(error) as unknown });
  const params: MarkUnknownParams = { ...fenced(turn), error, sweepAfterMs, event, detail };
  const record = await insist(env, turn, () => env.store.markUnknown(params));
  await env.reach(pointOf(turn, "after-settle"));
  if (record === undefined) return answerStale(env, turn, reason, cause);
  throw outcomeUnknown(record, reason, sweepAfterMs, cause);
}

/** Why an outcome is unknown. */
export interface Doubt {
  readonly reason: string;
  readonly cause: unknown;
  readonly sweepAfterMs?: number;
  readonly event?: "operation.unsure" | "operation.absent";
}

/** Release: this attempt can't land, so it doesn't count. What earlier ones did stays as unknown as it was. */
async function release(
  env: GuardEnvironment,
  turn: Turn,
  error: unknown,
): Promise<Outcome<unknown>> {
  const params = {
    ...fenced(turn),
    attempts: turn.record.attempts,
    error: storeError(error),
    sweepAfterMs: sweepBackOffMs(turn.record.sweeps),
    detail: JSON.stringify({ reason: errorText(error) }),
  };
  const record = await insist(env, turn, () => env.store.release(params));
  await env.reach(pointOf(turn, "after-settle"));
  if (record === undefined) return answerStale(env, turn, provesNothing, error);
  throw record.attempts === 0
    ? notSent(record, error)
    : outcomeUnknown(record, "this call sent nothing, but an earlier one did", 1000, error);
}

/** Our token is stale: somebody else wrote since. What the row says is the answer (R12, R16). */
export async function answerStale(
  env: GuardEnvironment,
  turn: Turn,
  reason: string,
  cause: unknown,
): Promise<Outcome<unknown>> {
  const { tenant, key } = turn.record;
  const record = (await env.store.read({ tenant, key })) ?? turn.record;
  switch (record.status) {
    case "DONE":
      return outcomeOf(record, { replayed: true, warnings: turn.warnings });
    case "FAILED":
      throw record.incident === null ? operationFailed(record) : needsReview(record);
    case "NEEDS_REVIEW":
      throw needsReview(record);
    case "UNKNOWN":
      throw outcomeUnknown(record, reason, 1000, cause);
    case "IN_PROGRESS":
      throw leaseLost(record);
  }
}

/** A call that we gave up may still end well, and then we know (R14). */
function mergeLater(env: GuardEnvironment, turn: Turn, later: Promise<Ended>): void {
  const merge = async (): Promise<void> => {
    const ended = await later;
    if (ended.kind === "succeeded") await complete(env, turn, successOf(turn, ended.value));
  };
  merge().catch((error: unknown) => {
    const { tenant, key } = turn.record;
    env.warn({
      tenant,
      key,
      message: `a late success was not what is stored: ${errorText(error)}`,
    });
  });
}
