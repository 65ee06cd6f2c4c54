/**
 * One pass over a claimed run: the body runs from its beginning until it ends, waits or throws.
 *
 * @module
 */
import { backOffMs, spread } from "../base/back-off.ts";
import { errorText, isNeverTwiceError } from "../base/errors.ts";
import { pause } from "../base/runtime.ts";
import { storeError } from "../guard/serialise.ts";
import type { RunRecord } from "../ledger/runs.ts";
import type { FlowEnvironment, Pass } from "./environment.ts";
import type { Flow } from "./flow.ts";
import { type OpenEffect, readOpenEffects, tellDoubts } from "./open-effects.ts";
import { createRunContext } from "./run-context.ts";
import { StepLog } from "./step-log.ts";
import { storeValue } from "./step-value.ts";
import { Suspension, type Wait } from "./suspension.ts";

type Ending =
  | { readonly kind: "returned"; readonly output: string }
  | { readonly kind: "waits"; readonly wait: Wait }
  | { readonly kind: "threw"; readonly error: unknown; readonly log: StepLog };

/** Works on the run and returns its row afterwards; undefined when another process has it by now. */
export async function executeRun(
  env: FlowEnvironment,
  flow: Flow<never>,
  run: RunRecord,
): Promise<RunRecord | undefined> {
  const { tenant, runId } = run;
  await env.reach({ name: "run-claimed", tenant, runId, step: undefined });
  const lease = new AbortController();
  const ended = new AbortController();
  const renewing = keepLease(env, run, lease, ended.signal);
  try {
    const pass: Pass = { run, signal: lease.signal };
    return await settlePass(env, pass, await runBody(env, flow, pass));
  } finally {
    // Not the lease: a call that is still under way would be cut off, and leave a doubt for nothing.
    ended.abort();
    await renewing;
  }
}

async function runBody(env: FlowEnvironment, flow: Flow<never>, pass: Pass): Promise<Ending> {
  const { run } = pass;
  const log = new StepLog(run.runId, await env.store.runs.listSteps(run));
  const suspension = new Suspension(env.runtime);
  const begun: Promise<unknown>[] = [];
  const f = createRunContext({ env, pass, log, suspension, approved: new Map(), begun });
  const body = async (): Promise<Ending> => {
    const output = storeValue("the flow's result", await flow.body(f, readInput(run)));
    log.checkComplete();
    return { kind: "returned", output };
  };
  const waiting = suspension.reached.then((wait): Ending => ({ kind: "waits", wait }));
  try {
    return await Promise.race([body(), waiting]);
  } catch (error) {
    return { kind: "threw", error, log };
  } finally {
    // What is left under way and fails from now on has nobody who could hear of it; the ending tells of it.
    for (const step of begun) step.catch(() => {});
  }
}

function readInput(run: RunRecord): never {
  return JSON.parse(run.input) as never;
}

async function settlePass(
  env: FlowEnvironment,
  pass: Pass,
  ending: Ending,
): Promise<RunRecord | undefined> {
  switch (ending.kind) {
    case "returned":
      return settle(env, pass, { status: "DONE", output: ending.output, error: null });
    case "waits":
      return suspend(env, pass, ending.wait, null);
    case "threw":
      return settleThrown(env, pass, ending);
  }
}

/** An error that the same code may not meet again is worth another pass; the log keeps what was had. */
async function settleThrown(
  env: FlowEnvironment,
  pass: Pass,
  { error, log }: Extract<Ending, { kind: "threw" }>,
): Promise<RunRecord | undefined> {
  const { run, signal } = pass;
  if (isNeverTwiceError(error, "LEASE_LOST") || signal.aborted) return undefined;
  const stored = storeError(error);
  const hopeless = isNeverTwiceError(error) && error.entry.sameCall !== "safe";
  if (hopeless || run.attempts >= env.maxAttempts) {
    const open = await readOpenEffects(env.store, run, ({ kind, name }) =>
      log.isUnderWay(kind, name),
    );
    const told = withDoubts(
      stored,
      open.filter(({ inDoubt }) => inDoubt),
    );
    return settle(env, pass, { status: "FAILED", output: null, error: told });
  }
  const readAtMs = (await env.store.runs.read(run))?.readAtMs ?? run.readAtMs;
  const restMs = spread(env.runtime, backOffMs({ firstMs: 1000, lastMs: 300_000 }, run.attempts));
  const wait = { waitsFor: `another try: ${errorText(error)}`, wakeAtMs: readAtMs + restMs };
  return suspend(env, pass, wait, stored);
}

/** The end of a run names what it leaves in doubt. */
function withDoubts(stored: string, inDoubt: readonly OpenEffect[]): string {
  if (inDoubt.length === 0) return stored;
  const error = JSON.parse(stored) as { readonly message: string };
  const effects = inDoubt.map(({ inDoubt: _doubt, ...effect }) => effect);
  const message = `${error.message} ${tellDoubts(inDoubt)}`;
  return JSON.stringify({ ...error, message, inDoubt: effects });
}

async function suspend(
  env: FlowEnvironment,
  { run }: Pass,
  wait: Wait,
  error: string | null,
): Promise<RunRecord | undefined> {
  const { tenant, runId, token, wakes } = run;
  await env.reach({ name: "before-suspend", tenant, runId, step: undefined });
  // A doubt is asked about at growing intervals; only an approval or a sleep begins them anew.
  const attempts = error === null && !/: [A-Z_]+$/.test(wait.waitsFor) ? 0 : run.attempts;
  return env.store.runs.suspend({ tenant, runId, token, wakes, ...wait, error, attempts });
}

async function settle(
  env: FlowEnvironment,
  { run }: Pass,
  end: { status: "DONE" | "FAILED"; output: string | null; error: string | null },
): Promise<RunRecord | undefined> {
  const { tenant, runId, token } = run;
  await env.reach({ name: "before-run-settle", tenant, runId, step: undefined });
  const settled = await env.store.runs.settle({ tenant, runId, token, ...end });
  await env.reach({ name: "run-settled", tenant, runId, step: undefined });
  return settled;
}

/** Renews the lease until told to stop; aborts when the run is another's, or before the lease ends. */
async function keepLease(
  env: FlowEnvironment,
  run: RunRecord,
  lease: AbortController,
  ended: AbortSignal,
): Promise<void> {
  const { tenant, runId, token } = run;
  let renewedAtMs = env.runtime.monotonicMs();
  // A run that has just ended is not lost: its row takes no renewal either.
  const lose = (): void => {
    if (!ended.aborted) lease.abort();
  };
  while (!ended.aborted) {
    await pause(env.runtime, env.leaseMs / 3, ended);
    if (ended.aborted) return;
    const askedAtMs = env.runtime.monotonicMs();
    try {
      const { leaseMs } = env;
      const renewed = await env.store.runs.renew({ tenant, runId, token, leaseMs });
      if (renewed === undefined) return lose();
      renewedAtMs = askedAtMs;
    } catch (error) {
      env.warn(`the lease of run ${runId} could not be renewed: ${errorText(error)}`);
      if (env.runtime.monotonicMs() - renewedAtMs > env.leaseMs / 2) return lose();
    }
  }
}
