/**
 * Calls of the guard in a step: what stands is recorded, a doubt is waited out.
 *
 * @module
 */
import { backOffMs, spread } from "../base/back-off.ts";
import { type ErrorCode, isNeverTwiceError } from "../base/errors.ts";
import type { Outcome } from "../guard/answers.ts";
import type { RunScope } from "./run-context.ts";
import type { Step } from "./run-step.ts";
import { storeFailure, storeOutcome } from "./step-value.ts";

/** What stands for good: recorded, where everything that is no doubt either ends the pass. */
const lasting = new Set<ErrorCode>(["OPERATION_FAILED", "KEY_EXPIRED"]);
const doubtful = new Set<ErrorCode>([
  "OUTCOME_UNKNOWN",
  "IN_PROGRESS",
  "NEEDS_REVIEW",
  "NOT_SENT",
  "LEASE_LOST",
  "WINDOW_CLOSED",
  "STORE_UNAVAILABLE",
  "INTENT_UNSETTLED",
]);

/** True when the same call may end otherwise later on. */
export function isDoubtful(code: ErrorCode): boolean {
  return doubtful.has(code);
}

/**
 * Returns what the step is to record of the call. A doubt is waited out: the run sleeps, and the next
 * pass makes the same call.
 */
export async function callGuard(
  scope: RunScope,
  step: Step,
  call: () => Promise<Pick<Outcome<unknown>, "value" | "omitted">>,
): Promise<string> {
  try {
    return storeOutcome(step.name, await call());
  } catch (error) {
    if (!isNeverTwiceError(error)) throw error;
    if (lasting.has(error.code)) return storeFailure(error);
    if (!isDoubtful(error.code) || scope.pass.signal.aborted) throw error;
    return waitOut(scope, step, error.code, Number(error.details["retryAfterMs"] ?? 0));
  }
}

/** Waits until it is time to look again. */
export async function waitOut(
  scope: RunScope,
  step: Step,
  code: ErrorCode,
  retryAfterMs = 0,
): Promise<never> {
  const readAtMs = await nowMs(scope);
  const wakeAtMs = readAtMs + Math.max(retryAfterMs, doubtBackOffMs(scope));
  return scope.suspension.wait({ waitsFor: `${step.name}: ${code}`, wakeAtMs });
}

/** 1 s, 2 s … up to a minute: each look costs the provider a question. */
function doubtBackOffMs({ env, pass }: RunScope): number {
  return spread(env.runtime, backOffMs({ firstMs: 1000, lastMs: 60_000 }, pass.run.attempts));
}

/** The database's time; a run that is no longer ours can't tell it. */
export async function nowMs({ env, pass }: RunScope): Promise<number> {
  return (await env.store.runs.read(pass.run))?.readAtMs ?? pass.run.readAtMs;
}

/** Where the step is, for a test that stops there. */
export function pointOf(
  { pass }: RunScope,
  step: Step,
): { tenant: string; runId: string; step: string } {
  const { tenant, runId } = pass.run;
  return { tenant, runId, step: step.name };
}
