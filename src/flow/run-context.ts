/**
 * The steps of a claimed run: each is looked up in the log first, and recorded before anything that
 * depends on it runs.
 *
 * @module
 */
import { canonicalJson, sha256Hex } from "../base/canonical-json.ts";
import { days, isSpan } from "../base/duration.ts";
import { NeverTwiceError } from "../base/errors.ts";
import { emit } from "../effects/emit.ts";
import type { CallIdentity } from "../guard/create-guard.ts";
import type { RunContext } from "../guard/prepare.ts";
import type { Tool } from "../guard/tool.ts";
import type { StepKind } from "../ledger/runs.ts";
import { awaitApproval, callingStep, recordedApproval } from "./approval.ts";
import type { FlowEnvironment, Pass } from "./environment.ts";
import { callGuard, nowMs, pointOf } from "./call-guard.ts";
import type { ActOptions, Approval, ApproveOptions, EmitOptions, FlowContext } from "./flow.ts";
import { type Step, recordStep, runStep } from "./run-step.ts";
import type { StepLog } from "./step-log.ts";
import { readValue, storeValue } from "./step-value.ts";
import type { Suspension } from "./suspension.ts";
import { undoRun } from "./undo-run.ts";

/** Everything that a pass over a run shares. */
export interface RunScope {
  readonly env: FlowEnvironment;
  readonly pass: Pass;
  readonly log: StepLog;
  readonly suspension: Suspension;
  /** What was approved in this pass, by key: another payload under the key must not run. */
  readonly approved: Map<string, Approval>;
  /** Every step that the pass has begun. */
  readonly begun: Promise<unknown>[];
}

/** What the flow's body is given. */
export function createRunContext(scope: RunScope): FlowContext {
  const { tenant, runId } = scope.pass.run;
  const step = <T>(
    name: string,
    kind: StepKind,
    work: (step: Step) => Promise<string>,
  ): Promise<T> => begun(scope, runStep(scope, name, kind, work) as Promise<T>);
  return Object.freeze({
    tenant,
    runId,
    decide: <T>(name: string, ask: () => Promise<T> | T) =>
      step<T>(name, "decide", async (at) => {
        const value = storeValue(name, await ask());
        await scope.env.reach({ name: "step-asked", tenant, runId, step: name });
        return recordStep(scope, at, { status: "DONE", value });
      }),
    act: <Result>(name: string, tool: Tool<Result>, args: unknown, options: ActOptions = {}) =>
      step<Result>(name, "act", (at) => act(scope, at, tool, args, options)),
    approve: (name: string, payload: unknown, options: ApproveOptions = {}) => {
      const asked = step<Approval>(name, "approve", (at) => approve(scope, at, payload, options));
      return begun(
        scope,
        asked.then((approval) => {
          scope.approved.set(approval.key, approval);
          return approval;
        }),
      );
    },
    sleep: (name: string, spanMs: number) =>
      step<void>(name, "sleep", (at) => sleep(scope, at, spanMs)),
    emit: (type: string, data: unknown, options: EmitOptions = {}) =>
      step<string>(options.step ?? type, "emit", (at) =>
        emitStep(scope, at, type, data, options.subject),
      ),
    compensate: (name: string) =>
      step<readonly string[]>(name, "compensate", (at) => undoRun(scope, at)),
    fail: (reason: string): never => {
      throw new NeverTwiceError("RUN_FAILED", reason, { details: { runId } });
    },
  });
}

function begun<T>(scope: RunScope, step: Promise<T>): Promise<T> {
  scope.begun.push(step);
  return step;
}

async function act(
  scope: RunScope,
  step: Step,
  tool: Tool,
  args: unknown,
  options: ActOptions,
): Promise<string> {
  const { env } = scope;
  const context = callContext(scope, step.name, options);
  const identity = await env.guard.identify(tool, args, context);
  env.tools.set(tool.name, tool);
  checkApproved(scope, step, identity);
  checkSameEffect(scope, step, identity);
  if (step.recorded?.status === "DONE") return step.recorded.value ?? "";
  await recordStep(scope, step, { status: "STARTED", ...identity });
  await env.reach({ ...pointOf(scope, step), name: "step-started" });
  const value = await callGuard(scope, step, () => env.guard.run(tool, args, context));
  await env.reach({ ...pointOf(scope, step), name: "step-acted" });
  return recordStep(scope, step, { status: "DONE", value, ...identity });
}

function callContext({ pass }: RunScope, stepId: string, options: ActOptions): RunContext {
  const { tenant, runId } = pass.run;
  return { ...options, tenant, workflowId: runId, stepId, signal: pass.signal };
}

function checkSameEffect(scope: RunScope, step: Step, identity: CallIdentity | null): void {
  const recorded = step.recorded;
  if (recorded === undefined) return;
  const same =
    recorded.key === (identity?.key ?? null) &&
    recorded.fingerprint === (identity?.fingerprint ?? null);
  if (same) return;
  throw scope.log.changed(
    `the step "${step.name}" has started with other arguments or another intent (key ${recorded.key}); a changed mind is a new step that supersedes it`,
  );
}

function checkApproved(scope: RunScope, step: Step, identity: CallIdentity | null): void {
  const approval = identity === null ? undefined : scope.approved.get(identity.key);
  if (approval === undefined || approval.fingerprint === identity?.fingerprint) return;
  throw new NeverTwiceError(
    "APPROVAL_MISMATCH",
    `The step "${step.name}" would run with other business arguments than ${approval.by} approved. Nothing was sent. Ask for an approval of what is to run.`,
    { key: approval.key, details: { step: step.name } },
  );
}

async function approve(
  scope: RunScope,
  step: Step,
  payload: unknown,
  options: ApproveOptions,
): Promise<string> {
  const { tool, forStep, waitMs = days(7), ...more } = options;
  if (!isSpan(waitMs) || waitMs === 0) throw badSpan(step.name, "waitMs", waitMs);
  const text = canonicalJson(payload);
  const stepId = callingStep(step.name, tool, forStep);
  const identity =
    tool === undefined
      ? undefined
      : await scope.env.guard.identify(tool, payload, callContext(scope, stepId, more));
  const { tenant, runId } = scope.pass.run;
  const key = identity?.key ?? sha256Hex(canonicalJson({ tenant, runId, step: step.name }));
  const fingerprint = identity?.fingerprint ?? sha256Hex(text);
  const question = { key, fingerprint, payload: text, waitMs };
  if (step.recorded !== undefined) return recordedApproval(scope, step.recorded, question);
  const value = await awaitApproval(scope, step, question);
  return recordStep(scope, step, { status: "DONE", value, key, fingerprint });
}

async function sleep(scope: RunScope, step: Step, spanMs: number): Promise<string> {
  if (!isSpan(spanMs)) throw badSpan(step.name, "spanMs", spanMs);
  const started =
    step.recorded ??
    (await recordStep(
      scope,
      step,
      { status: "STARTED", value: storeValue(step.name, spanMs) },
      (r) => r,
    ));
  const spanFromRecordMs = Number(readValue(started.value ?? "null"));
  const wakeAtMs = started.startedAtMs + spanFromRecordMs;
  if ((await nowMs(scope)) < wakeAtMs) {
    return scope.suspension.wait({ waitsFor: `${step.name}: time`, wakeAtMs });
  }
  return recordStep(scope, step, { status: "DONE", value: storeValue(step.name, undefined) });
}

/** The step and the event commit together. */
async function emitStep(
  scope: RunScope,
  step: Step,
  type: string,
  data: unknown,
  subject: string | undefined,
): Promise<string> {
  const { env, pass } = scope;
  const { tenant, runId } = pass.run;
  const id = sha256Hex(canonicalJson({ tenant, runId, step: step.name }));
  return env.store.transaction(async (tx) => {
    const value = storeValue(step.name, id);
    const record = await recordStep(scope, step, { status: "DONE", value }, (r) => r, tx.runs);
    const atMs = record.startedAtMs;
    await emit(tx.outbox, { tenant, id, source: env.source, type, subject, data, atMs });
    return value;
  });
}

function badSpan(step: string, part: string, value: unknown): NeverTwiceError {
  return new NeverTwiceError(
    "STEP_INVALID",
    `The step "${step}" has the ${part} ${String(value)}: it must be a number of milliseconds. Nothing was recorded.`,
    { details: { step } },
  );
}
