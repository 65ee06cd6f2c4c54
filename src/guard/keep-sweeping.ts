/**
 * Keeps the sweeper running, and looks at closed operations now and then (R22).
 *
 * @module
 */
import { spread } from "../base/back-off.ts";
import { minutes } from "../base/duration.ts";
import { pause } from "../base/runtime.ts";
import type { GuardEnvironment } from "./environment.ts";
import { type LateLookPlan, lookAgain } from "./late-looks.ts";
import { sweep } from "./sweep.ts";
import type { Tool } from "./tool.ts";

const perRound = 100;
const lateLooksEveryMs = minutes(1);

/** Sweeps every `everyMs` until the signal aborts. */
export async function keepSweeping(
  env: GuardEnvironment,
  tools: ReadonlyMap<string, Tool>,
  plan: LateLookPlan,
  { signal, everyMs }: { readonly signal: AbortSignal; readonly everyMs: number },
): Promise<void> {
  let nextLooksAtMs = env.runtime.monotonicMs();
  while (!signal.aborted) {
    await quietly(env, "a sweep", () => sweep(env, tools, perRound));
    if (env.runtime.monotonicMs() >= nextLooksAtMs) {
      await quietly(env, "late looks", () => lookAgain(env, tools, plan, perRound));
      nextLooksAtMs = env.runtime.monotonicMs() + lateLooksEveryMs;
    }
    await pause(env.runtime, spread(env.runtime, everyMs), signal);
  }
}

/** The store is away; the next round may find it back. */
async function quietly(
  env: GuardEnvironment,
  what: string,
  work: () => Promise<unknown>,
): Promise<void> {
  try {
    await work();
  } catch (error) {
    env.warn({ tenant: "", key: "", message: `${what} could not begin: ${String(error)}` });
  }
}
