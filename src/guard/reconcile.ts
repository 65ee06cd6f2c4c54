/**
 * Reconcile: we own an operation whose attempts may have landed. Look, then complete, fail, send
 * again, wait, or ask a person (R18–R21).
 *
 * @module
 */
import { assert, errorText, isNeverTwiceError, storableText } from "../base/errors.ts";
import { type NextStep, decideNext, nothingSent } from "../ledger/decide.ts";
import { sweepBackOffMs } from "../ledger/window.ts";
import { type Outcome, needsReview, outcomeUnknown } from "./answers.ts";
import { type Armed, arm, firstSend } from "./arm.ts";
import type { GuardEnvironment } from "./environment.ts";
import { execute } from "./execute.ts";
import { findLookAlike } from "./look-alike.ts";
import { type LookedUp, lookUp, nothingToFind } from "./look-up.ts";
import { escalate } from "./review.ts";
import { storeError } from "./serialise.ts";
import { type Doubt, answerStale, complete, fail, markUnknown, settle } from "./settle.ts";
import { type Turn, fenced } from "./turn.ts";

/** How often a send that came too late is armed again in one call. */
const maxArms = 3;

/** Brings an operation that we own to an answer, by a return or an error. */
export async function reconcile(env: GuardEnvironment, turn: Turn): Promise<Outcome<unknown>> {
  return answering(turn, async () => {
    // A lower bound for the look-up's start, by the database's clock.
    const times = { startedAtMs: turn.record.readAtMs, nowMs: turn.record.readAtMs };
    const found = nothingSent(turn.record) ? nothingToFind : await lookUp(env, turn);
    return proceed(env, turn, found, times);
  });
}

/** A person has been asked; but evidence that is there by now wins (R30). */
export async function revisit(env: GuardEnvironment, turn: Turn): Promise<Outcome<unknown>> {
  const { attempts, incident } = turn.record;
  const found = attempts === 0 || incident !== null ? nothingToFind : await lookUp(env, turn);
  if (found.finding.kind === "succeeded") return completeFound(env, turn, found);
  throw needsReview(turn.record);
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
      return sendFirst(env, turn);
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
      return escalate(env, turn, step.reason, step.cause);
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
  const { replaysDeclines } = turn.parts.terms.policy;
  const absent = found.finding.kind === "absent";
  const proof = absent
    ? "the provider proves that it never took effect and never will"
    : "the provider shows that it failed";
  const lookedAtMs = absent ? times.startedAtMs : null;
  return fail(env, turn, new Error(proof), { lookedAtMs, replaysDeclines });
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
  const said = found.finding.kind === "unsure" ? found.finding.reason : reason;
  return { reason, cause: new Error(said), sweepAfterMs, event };
}

/** Why a person has to approve first. One who has let it run is not asked again. */
function findHold({ parts, record, arguments: captured }: Turn): string | undefined {
  if (record.generation > 0) return undefined;
  try {
    const reason = parts.hold?.(captured.value);
    return reason === undefined ? undefined : storableText(reason);
  } catch (error) {
    return `the rule that asks a person could not be applied: ${errorText(error)}`;
  }
}

/**
 * The first send of an operation, armed by its claim or to be armed now. It may need a person's
 * approval, and what looks like it is told to the caller or holds it for a person (R26).
 */
export async function sendFirst(
  env: GuardEnvironment,
  turn: Turn,
  byClaim?: Armed,
): Promise<Outcome<unknown>> {
  const held = findHold(turn);
  if (held !== undefined) return escalate(env, turn, held);
  const alike = await findLookAlike(env, turn);
  if (alike !== undefined && turn.parts.lookAlike?.rule === "hold")
    return escalate(env, turn, alike);
  const { tenant, key } = turn.record;
  if (alike !== undefined) env.warn({ tenant, key, message: alike });
  const warned = { ...turn, warnings: alike === undefined ? [] : [alike] };
  const armed =
    byClaim === undefined ? await arm(env, warned, firstSend) : { ...byClaim, turn: warned };
  if (armed === undefined) return answerStale(env, warned, "another worker has it", undefined);
  return sendArmed(env, armed);
}

/** Sends an armed attempt, and settles. */
async function sendArmed(env: GuardEnvironment, first: Armed): Promise<Outcome<unknown>> {
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
    error: storeError(cause),
    sweepAfterMs: 0,
    detail: JSON.stringify({ reason: errorText(cause) }),
  });
  return record === undefined ? undefined : arm(env, { ...turn, record }, firstSend);
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
