/**
 * Undoing what a run did: in reverse order, each undo an intent of its own, for proved effects only
 * (R30).
 *
 * @module
 */
import { NeverTwiceError, isNeverTwiceError } from "../base/errors.ts";
import { findActEffect, findUndo, isCompensable } from "../effects/compensate.ts";
import type { Outcome } from "../guard/answers.ts";
import type { Tool } from "../guard/tool.ts";
import type { StepRecord } from "../ledger/runs.ts";
import { callGuard, pointOf, waitOut } from "./call-guard.ts";
import type { RunScope } from "./run-context.ts";
import { type Step, recordStep } from "./run-step.ts";
import { hasValue, storeUndo, storeValue } from "./step-value.ts";

/**
 * Returns what the step is to record: the names of the steps that were undone. It waits while an act of
 * the run is under way or in doubt, because that one's effect may come yet. A refused undo ends it:
 * that is for the flow's code to know, and what was undone before stays undone.
 */
export async function undoRun(scope: RunScope, step: Step): Promise<string> {
  const { env, pass, log } = scope;
  const { tenant } = pass.run;
  // An earlier pass may have stopped at an undo: that stays named until this one comes to an undo.
  await recordStep(scope, step, { status: "STARTED", value: step.recorded?.value ?? null });
  await env.reach({ ...pointOf(scope, step), name: "step-started" });
  if (log.isUnderWay("act")) return waitOut(scope, step, "INTENT_UNSETTLED");
  const effects = await effectsOf(scope);
  if (effects === "unsettled") return waitOut(scope, step, "INTENT_UNSETTLED");
  const undone: string[] = [];
  for (const [index, { name, key }] of effects.entries()) {
    const record = await env.store.read({ tenant, key });
    const tool = env.tools.get(record?.tool ?? "");
    if (tool === undefined) throw log.changed(`the tool of "${name}" was not called in this pass`);
    if (!isCompensable(tool)) continue;
    const left = effects.slice(index).map((effect) => effect.name);
    const value = await callGuard(scope, step, () =>
      telling({ name, undone, left }, () => undoNamed(scope, step, { name, key, tool })),
    );
    if (!hasValue(value)) return recordStep(scope, step, { status: "DONE", value });
    await env.reach({ ...pointOf(scope, step), name: "step-acted" });
    undone.push(name);
  }
  return recordStep(scope, step, { status: "DONE", value: storeValue(step.name, undone) });
}

/** The step names the undo before it is sent: where the run ends in between, it hides no doubt. */
async function undoNamed(
  scope: RunScope,
  step: Step,
  { name, key, tool }: ActEffect & { readonly tool: Tool },
): Promise<Outcome<unknown>> {
  const { guard, store } = scope.env;
  const { run, signal } = scope.pass;
  const options = { tenant: run.tenant, key, context: { signal } };
  const undo = await findUndo(guard, store, [tool], options);
  const identity = await guard.identify(undo.tool, undo.args, undo.context);
  const value = identity === null ? null : storeUndo(step.name, name, identity);
  await recordStep(scope, step, { status: "STARTED", value });
  return guard.run(undo.tool, undo.args, undo.context);
}

interface ActEffect {
  readonly name: string;
  readonly key: string;
}

/** The proved effects of the run's acts, the latest first. */
async function effectsOf({ env, pass }: RunScope): Promise<readonly ActEffect[] | "unsettled"> {
  const steps = await env.store.runs.listSteps(pass.run);
  const effects: ActEffect[] = [];
  for (const act of steps.toSorted((a, b) => b.position - a.position)) {
    const { name, kind, key } = act;
    if (kind !== "act" || key === null) continue;
    const found = await effectOf(env.store, { ...act, key });
    if (found === "unsettled") return "unsettled";
    if (found === "proved") effects.push({ name, key });
  }
  return effects;
}

/** Of an act without an answer the guard's row tells. */
async function effectOf(
  store: Parameters<typeof findActEffect>[0],
  { tenant, key, fingerprint, status, value }: StepRecord & { readonly key: string },
): ReturnType<typeof findActEffect> {
  if (status === "DONE") return hasValue(value) ? "proved" : "none";
  return findActEffect(store, { tenant, key, fingerprint: fingerprint ?? "" });
}

/** An error that says how far the undoing has come. */
async function telling(
  at: {
    readonly name: string;
    readonly undone: readonly string[];
    readonly left: readonly string[];
  },
  undo: () => Promise<Outcome<unknown>>,
): Promise<Outcome<unknown>> {
  try {
    return await undo();
  } catch (cause) {
    if (!isNeverTwiceError(cause)) throw cause;
    const { code, message, key, details } = cause;
    const { name, undone, left } = at;
    const had = undone.length === 0 ? "nothing" : undone.join(", ");
    throw new NeverTwiceError(
      code,
      `Undoing "${name}": ${message} Undone before it: ${had}. Not undone: ${left.join(", ")}.`,
      { key, cause, details: { ...details, step: name, undone: [...undone], left } },
    );
  }
}
