/**
 * One step: looked up in the log, worked on, recorded under the run's fencing token.
 *
 * @module
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { NeverTwiceError } from "../base/errors.ts";
import { checkedId } from "../intent/intent.ts";
import type { RunWriter, StepKind, StepParams, StepRecord } from "../ledger/runs.ts";
import type { RunScope } from "./run-context.ts";
import type { Visit } from "./step-log.ts";
import { readValue } from "./step-value.ts";

/** A step that the flow's code has come to. */
export interface Step extends Visit {
  readonly name: string;
  readonly kind: StepKind;
}

/** The step that running code is part of: what a decision asks is the user's own code. */
const inside = new AsyncLocalStorage<{ readonly scope: RunScope; readonly step: string }>();

/** Returns what the log holds, or works on the step and returns what it recorded. */
export async function runStep(
  scope: RunScope,
  name: string,
  kind: StepKind,
  work: (step: Step) => Promise<string>,
): Promise<unknown> {
  const { env, pass, log, suspension } = scope;
  const { tenant, runId } = pass.run;
  const outer = inside.getStore();
  if (outer?.scope === scope) throw nested(runId, name, outer.step);
  const step = { name: checkedId(name, "the step's name"), kind, ...log.visit(name, kind) };
  suspension.begin();
  try {
    const { recorded } = step;
    if (recorded?.status === "DONE" && kind !== "act" && kind !== "approve")
      return readValue(recorded.value ?? "");
    await env.reach({ name: "before-step", tenant, runId, step: name });
    const value = await inside.run({ scope, step: name }, () => work(step));
    await env.reach({ name: "step-recorded", tenant, runId, step: name });
    return readValue(value);
  } finally {
    log.leave(name);
    suspension.end();
  }
}

/** What of a step changes. */
type StepChange = Pick<StepParams, "status"> &
  Partial<Pick<StepParams, "value" | "key" | "fingerprint">>;

/**
 * Records the step, and returns its value or, with `pick`, the row. A step that is DONE stays as it is.
 *
 * @throws {NeverTwiceError} LEASE_LOST when another process works on the run.
 */
export async function recordStep<T = string>(
  scope: RunScope,
  step: Step,
  change: StepChange,
  pick: (record: StepRecord) => T = valueOf as (record: StepRecord) => T,
  runs: Pick<RunWriter, "recordStep"> = scope.env.store.runs,
): Promise<T> {
  const { tenant, runId, token } = scope.pass.run;
  if (step.recorded?.status === "DONE") return pick(step.recorded);
  const { name, kind, position, concurrent } = step;
  const { status, value = null, key = null, fingerprint = null } = change;
  const record = await runs.recordStep({
    tenant,
    runId,
    token,
    name,
    kind,
    position,
    concurrent,
    status,
    value,
    key,
    fingerprint,
  });
  if (record === undefined) throw lost(runId, name);
  return pick(record);
}

function valueOf(record: StepRecord): string {
  return record.value ?? "";
}

/** The outer step would wait for the inner one, and the run for neither. */
function nested(runId: string, step: string, outer: string): NeverTwiceError {
  return new NeverTwiceError(
    "STEP_INVALID",
    `The run ${runId} comes to the step "${step}" inside the step "${outer}". A step has no steps: take "${step}" before or after it. Nothing was recorded of "${step}".`,
    { details: { runId, step, outer } },
  );
}

function lost(runId: string, step: string): NeverTwiceError {
  return new NeverTwiceError(
    "LEASE_LOST",
    `Another process works on the run ${runId} by now, so this one did not record the step "${step}" and goes no further.`,
    { details: { runId, step } },
  );
}
