/**
 * The guard: the protocol as a staircase. All branching is in `decide` and `decideNext`; here their
 * decisions are acted on.
 *
 * @module
 */
import { backOffMs, spread } from "../base/back-off.ts";
import { unreachable } from "../base/errors.ts";
import { pause } from "../base/runtime.ts";
import { decide } from "../ledger/decide.ts";
import type { OperationRecord } from "../ledger/record.ts";
import {
  type Outcome,
  inProgress,
  keyExpired,
  operationFailed,
  outcomeOf,
  payloadMismatch,
} from "./answers.ts";
import { type Claimed, claim } from "./claim.ts";
import type { GuardEnvironment } from "./environment.ts";
import { flagCorrupt } from "./flag-corrupt.ts";
import type { PreparedCall } from "./prepare.ts";
import { reconcile, revisit, sendFirst } from "./reconcile.ts";
import { recordIntent } from "./record-intent.ts";
import { takeOver } from "./take-over.ts";
import { type Turn, storedArguments } from "./turn.ts";

/** How often a row may change under us before the caller is told to come again. */
const maxRounds = 20;

/** Runs one prepared call: claim, decide, and then whatever the decision says. */
export async function runGuarded(
  env: GuardEnvironment,
  call: PreparedCall,
): Promise<Outcome<unknown>> {
  await recordIntent(env.store, call);
  const untilMs = env.runtime.monotonicMs() + waitMsOf(call);
  let claimed = await claim(env, call);
  for (let round = 1; ; round += 1) {
    const { record } = claimed;
    if (round > maxRounds) throw inProgress(record);
    const decision = decide(record, call);
    switch (decision.kind) {
      case "corrupt":
        return flagCorrupt(env, record, decision.reason);
      case "mismatch":
        throw payloadMismatch(record, call);
      case "expired":
        throw keyExpired(record);
      case "replay":
        return outcomeOf(record, { replayed: true });
      case "failed":
        throw operationFailed(record);
      case "review":
        return revisit(env, turnOf(call, claimed));
      case "execute":
        return executeClaimed(env, call, claimed);
      case "in-progress":
        claimed = await waitForOutcome(env, call, claimed, untilMs);
        break;
      case "take-over": {
        const { leaseMs } = call.parts.terms;
        const taken = await takeOver(env, record, call.acquisitionId, leaseMs);
        if (taken !== undefined) return reconcile(env, turnOf(call, taken));
        claimed = await readAgain(env, call, claimed);
        break;
      }
      default:
        return unreachable(decision);
    }
  }
}

/** The claim is ours, and armed already unless the tool arms separately. */
async function executeClaimed(
  env: GuardEnvironment,
  call: PreparedCall,
  claimed: Claimed,
): Promise<Outcome<unknown>> {
  const turn = turnOf(call, claimed);
  const { askedAtMonotonicMs } = claimed;
  return sendFirst(
    env,
    turn,
    turn.record.attempts === 0 ? undefined : { turn, askedAtMonotonicMs },
  );
}

/** Between two looks at a row that another works on. */
const waits = { firstMs: 25, lastMs: 500 };

/** Looks at the row now and then, without holding a connection in between. */
async function waitForOutcome(
  env: GuardEnvironment,
  call: PreparedCall,
  claimed: Claimed,
  untilMs: number,
): Promise<Claimed> {
  for (let looks = 1; ; looks += 1) {
    const leftMs = untilMs - env.runtime.monotonicMs();
    if (leftMs <= 0 || call.context.signal?.aborted === true) throw inProgress(claimed.record);
    const waitMs = Math.min(spread(env.runtime, backOffMs(waits, looks)), leftMs);
    await pause(env.runtime, waitMs, call.context.signal);
    const next = await readAgain(env, call, claimed);
    if (decide(next.record, call).kind !== "in-progress") return next;
  }
}

/** A row that has vanished is claimed anew; that is never read as "nothing happened" (R8). */
async function readAgain(
  env: GuardEnvironment,
  call: PreparedCall,
  claimed: Claimed,
): Promise<Claimed> {
  const { tenant, key } = call;
  const record = await env.store.read({ tenant, key });
  return record === undefined ? claim(env, call) : { ...claimed, record };
}

function waitMsOf(call: PreparedCall): number {
  const { onInProgress = "conflict" } = call.context;
  return onInProgress === "conflict" ? 0 : onInProgress.waitMs;
}

function turnOf(
  call: PreparedCall,
  owned: { record: OperationRecord; askedAtMonotonicMs: number },
): Turn {
  const { tool, parts, context } = call;
  return {
    tool,
    parts,
    record: owned.record,
    leaseEndsAtMonotonicMs: owned.askedAtMonotonicMs + parts.terms.leaseMs,
    arguments: storedArguments(owned.record),
    signal: context.signal,
    warnings: [],
  };
}
