/**
 * Arm: a fenced, durable "attempt n goes now", before every send (R10).
 *
 * @module
 */
import { isNeverTwiceError } from "../base/errors.ts";
import type { OperationRecord } from "../ledger/record.ts";
import { quietSpanMs, resendSpanMs } from "../ledger/window.ts";
import type { GuardEnvironment } from "./environment.ts";
import { type Turn, fenced, pointOf } from "./turn.ts";

/** An armed attempt and the monotonic time before its statement. */
export interface Armed {
  readonly turn: Turn;
  readonly askedAtMonotonicMs: number;
}

/** Why an attempt is armed. */
export interface ArmReason {
  /** Take a new provider key: absence was proved. */
  readonly newGeneration: boolean;
  /** The database's time before the look-up; null when there was none. */
  readonly lookedAtMs: number | null;
  /** What the look-up said; told in the journal. */
  readonly after: string;
}

/** For an operation of which nothing was sent. */
export const firstSend: ArmReason = {
  newGeneration: false,
  lookedAtMs: null,
  after: "nothing was sent",
};

/**
 * Arms the next attempt. Undefined when the statement's conditions don't hold any more: the token is
 * stale, or sending is no longer safe. The caller re-reads.
 */
export async function arm(
  env: GuardEnvironment,
  turn: Turn,
  reason: ArmReason,
): Promise<Armed | undefined> {
  await env.reach(pointOf(turn, "before-arm"));
  const askedAtMonotonicMs = env.runtime.monotonicMs();
  const record = await armOnce(env, turn, reason);
  if (record === undefined) return undefined;
  await env.reach(pointOf(turn, "after-arm"));
  const leaseEndsAtMonotonicMs = askedAtMonotonicMs + turn.parts.terms.leaseMs;
  return { turn: { ...turn, record, leaseEndsAtMonotonicMs }, askedAtMonotonicMs };
}

async function armOnce(
  env: GuardEnvironment,
  turn: Turn,
  reason: ArmReason,
): Promise<OperationRecord | undefined> {
  const { record, parts } = turn;
  const { terms } = parts;
  const { newGeneration, lookedAtMs, after } = reason;
  const generation = record.generation + Number(newGeneration);
  // Within a generation the wire key is the one captured at its first arm, whatever the tool says now.
  const wireKey =
    record.attemptsInGeneration > 0 && !newGeneration && record.wireKey !== null
      ? record.wireKey
      : terms.wireKeyOf(record.key, generation);
  const params = {
    ...fenced(turn),
    attempts: record.attempts,
    leaseMs: terms.leaseMs,
    quietMs: quietSpanMs(terms.bounds),
    resendSpanMs:
      terms.policy.mode === "strict" || !terms.policy.resendable ? 0 : resendSpanMs(terms.bounds),
    newGeneration,
    lookedAtMs,
    wireKey,
    detail: JSON.stringify({ wireKey, generation, after }),
  };
  try {
    return await env.store.arm(params);
  } catch (error) {
    if (!isNeverTwiceError(error, "STORE_UNAVAILABLE")) throw error;
    // The acknowledgement may be lost: only we can have armed under our token (R8).
    const found = await env.store.read(params);
    const ours = found?.token === params.token && found.attempts === params.attempts + 1;
    if (!ours) throw error;
    return found;
  }
}
