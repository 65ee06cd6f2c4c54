/**
 * Reconcile: we own an operation whose attempts may have landed. Look, then complete, fail, send
 * again, wait, or ask a person (R18–R21).
 *
 * @module
 */
import { assert, isNeverTwiceError } from "../base/errors.ts";
import { type NextStep, decideNext, nothingSent } from "../ledger/decide.ts";
import { sweepBackOffMs } from "../ledger/window.ts";
import { type Outcome, needsReview, outcomeUnknown } from "./answers.ts";
import { type ArmReason, type Armed, arm, firstSend } from "./arm.ts";
import type { GuardEnvironment } from "./environment.ts";
import { execute } from "./execute.ts";
import { type LookedUp, lookUp } from "./look-up.ts";
import { type Doubt, answerStale, complete, fail, markUnknown, settle } from "./settle.ts";
import { type Turn, fenced } from "./turn.ts";

/** How often a send that came too late is armed again in one call. */
const maxArms = 3;

/** Brings an operation that we own to an answer, by a return or an error. */
export async function reconcile(env: GuardEnvironment, turn: Turn): Promise<Outcome<unknown>> {
  return answering(turn, async () => {
    if (nothingSent(turn.record)) return send(env, turn, firstSend);
    // A lower bound for the look-up's start, by the database's clock.
    const lookedAtMs = turn.record.readAtMs;
    const found = await lookUp(env, turn);
    return proceed(env, turn, found, { startedAtMs: lookedAtMs, nowMs: turn.record.readAtMs });
  });
}

interface Times {
  readonly startedAtMs: number;
  readonly nowMs: number;
}

async function proceed(
  env: GuardEnvironment,
  turn: Turn,
  found: LookedUp,
  times: Times,
): Promise<Outcome<unknown>> {
  const step = decideNext(turn.record, found.finding, turn.parts.terms.policy, times);
  const after = found.finding.kind;
  switch (step.kind) {
    case "complete":
      return completeFound(env, turn, found);
    case "fail":
      return failFound(env, turn, found, times);
    case "arm":
      return send(env, turn, firstSend);
    case "resend":
    case "renew-key": {
      const newGeneration = step.kind === "renew-key";
      const armed = await arm(env, turn, { newGeneration, lookedAtMs: times.startedAtMs, after });
      if (armed !== undefined) return sendArmed(env, armed);
      return proceedLater(env, turn, found, times);
    }
    case "wait":
      return markUnknown(env, turn, doubtOf(turn, found, step, times));
    case "review":
      return escalate(env, turn, step.reason);
  }
}

/** Arming was refused: the token went stale, or the window closed meanwhile. The row tells which. */
async function proceedLater(
  env: GuardEnvironment,
  turn: Turn,
  found: LookedUp,
  times: Times,
): Promise<Outcome<unknown>> {
  const { tenant, key } = turn.record;
  const record = await env.store.read({ tenant, key });
  const owned = record?.token === turn.record.token && record.status === "IN_PROGRESS";
  // By the new time the decision is another one; if not, the row and the rules disagree, and a person decides.
  if (record === undefined || !owned)
    return answerStale(env, turn, "another worker has it", undefined);
  if (record.readAtMs <= times.nowMs) return escalate(env, turn, "arming was refused");
  return proceed(env, { ...turn, record }, found, { ...times, nowMs: record.readAtMs });
}

function completeFound(
  env: GuardEnvironment,
  turn: Turn,
  found: LookedUp,
): Promise<Outcome<unknown>> {
  const { effect } = found;
  assert(effect !== undefined, "what succeeded was found");
  return complete(env, turn, {
    value: effect.result,
    providerId: effect.providerId,
    event: "operation.found",
  });
}

function failFound(
  env: GuardEnvironment,
  turn: Turn,
  found: LookedUp,
  times: Times,
): Promise<Outcome<unknown>> {
  return found.finding.kind === "absent"
    ? fail(
        env,
        turn,
        new Error("the provider proves that it never took effect and never will"),
        times.startedAtMs,
      )
    : fail(env, turn, new Error("the provider shows that it failed"), null);
}

function doubtOf(
  turn: Turn,
  found: LookedUp,
  step: Extract<NextStep, { kind: "wait" }>,
  times: Times,
): Doubt {
  const { reason, untilMs } = step;
  const sweepAfterMs = Math.max(untilMs - times.nowMs, sweepBackOffMs(turn.record.sweeps));
  const event = found.finding.kind === "absent" ? "operation.absent" : "operation.unsure";
  return { reason, cause: new Error(reason), sweepAfterMs, event };
}

/** Arms and sends an operation of which nothing was sent, again while the send deadline is missed. */
export async function send(
  env: GuardEnvironment,
  turn: Turn,
  reason: ArmReason,
): Promise<Outcome<unknown>> {
  const armed = await arm(env, turn, reason);
  if (armed === undefined) return answerStale(env, turn, "another worker has it", undefined);
  return sendArmed(env, armed);
}

/** Sends an armed attempt, and settles. */
export async function sendArmed(env: GuardEnvironment, first: Armed): Promise<Outcome<unknown>> {
  return answering(first.turn, async () => {
    let armed = first;
    for (let arms = 1; ; arms += 1) {
      const result = await execute(env, armed);
      const again = result.kind === "not-sent" && result.late && arms < maxArms;
      const rearmed = again ? await armAgain(env, armed, result.error) : undefined;
      if (rearmed === undefined) return settle(env, armed.turn, result);
      armed = rearmed;
    }
  });
}

/** Too late: nothing was sent, so the attempt is taken back and armed anew, under the same token (R10). */
async function armAgain(
  env: GuardEnvironment,
  armed: Armed,
  cause: unknown,
): Promise<Armed | undefined> {
  const { turn } = armed;
  if (turn.record.attempts > 1) return undefined;
  const record = await env.store.release({
    ...fenced(turn),
    attempts: turn.record.attempts,
    error: JSON.stringify({ message: (cause as Error).message }),
    detail: JSON.stringify({ reason: (cause as Error).message }),
  });
  return record === undefined ? undefined : arm(env, { ...turn, record }, firstSend);
}

/** Escalate: hand the operation to a person. */
async function escalate(
  env: GuardEnvironment,
  turn: Turn,
  reason: string,
): Promise<Outcome<unknown>> {
  const record = await env.store.escalate({
    ...fenced(turn),
    reason,
    detail: JSON.stringify({ reason }),
  });
  if (record === undefined) return answerStale(env, turn, reason, undefined);
  throw needsReview(record);
}

/** With a request possibly on its way, a silent store means "unknown" and not "nothing was sent". */
async function answering<T>(turn: Turn, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const sent = turn.record.attempts > 0;
    if (!sent || !isNeverTwiceError(error, "STORE_UNAVAILABLE")) throw error;
    throw outcomeUnknown(turn.record, "the store could not be reached", 1000, error);
  }
}
