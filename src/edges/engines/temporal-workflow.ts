/**
 * `nevertwice/engines/temporal-workflow`: a flow's body inside a Temporal workflow. Import it from
 * workflow code only; it brings nothing of Node with it. The other half is `temporal`, on the side of
 * the activities.
 *
 * The body may be the one that runs on the embedded runner, with two differences that workflow code
 * makes: the function given to `decide` must itself call an activity, and a tool is named by
 * {@link toolNamed}, since what it executes belongs into the worker's process
 * (https://docs.temporal.io/develop/typescript/core-application#workflow-logic-requirements).
 *
 * @module
 */
import type * as temporal from "@temporalio/workflow";
import { isNeverTwiceError } from "../../base/errors.ts";
import type { Json } from "../../base/plain-json.ts";
import type { Flow } from "../../flow/flow.ts";
import type { Tool } from "../../guard/tool.ts";
import { type EngineJournal, runOnEngine } from "./shared/engine-context.ts";
import type { EngineRun, StepAnswer, StepRequest } from "./shared/requests.ts";
import { runIdOf } from "./shared/run-key.ts";

export { runKeyOf } from "./shared/run-key.ts";
export { flow } from "../../flow/flow.ts";

/** What of `@temporalio/workflow` is used: the module itself fits. */
export type TemporalWorkflowSdk = Pick<
  typeof temporal,
  | "ApplicationFailure"
  | "condition"
  | "defineSignal"
  | "proxyActivities"
  | "setHandler"
  | "sleep"
  | "workflowInfo"
>;

/** Options of {@link temporalFlow}. */
export interface TemporalFlowOptions {
  /** Of the activity that calls the guard. It must outlast the slowest tool's time-out and lease. */
  readonly activityOptions: temporal.ActivityOptions;
}

/** The signal that tells a workflow of a decision; its argument is the step's name. */
export const decidedSignal = "nevertwice.decided";

/** The activity's name. */
type PerformActivity = {
  nevertwicePerform(run: EngineRun, request: StepRequest): Promise<StepAnswer>;
};

/** A tool, by its name, where its code can't be: `act`, `approve` and `compensate` need no more. */
export function toolNamed<Result = unknown>(name: string): Tool<Result> {
  return {
    name,
    kind: "non-idempotent",
    schema: {
      "~standard": { version: 1, vendor: "nevertwice", validate: () => ({ value: {} }) },
    },
    guarded: null,
    execute: () => {
      throw new Error(`the tool ${name} runs in the worker's process only`);
    },
  };
}

/**
 * Returns the workflow function; export it from the workflows' file. Start it with `runKeyOf({
 * tenant, runId })` as workflow id, and with the flow's input.
 *
 * @example
 * export const refundTicket = temporalFlow(workflow, refundTicketFlow, {
 *   activityOptions: { startToCloseTimeout: "2 minutes" },
 * });
 */
export function temporalFlow<Input extends Json, Output>(
  sdk: TemporalWorkflowSdk,
  flow: Flow<Input, Output>,
  options: TemporalFlowOptions,
): (input: Input) => Promise<Output> {
  return async (input) => {
    const { name, version } = flow;
    const run = { ...runIdOf(sdk.workflowInfo().workflowId), flow: name, version };
    try {
      return await runOnEngine(flow, run, input, journalOn(sdk, run, options));
    } catch (error) {
      if (!isNeverTwiceError(error)) throw error;
      const { message, code, details } = error;
      throw sdk.ApplicationFailure.nonRetryable(message, code, details);
    }
  };
}

function journalOn(
  sdk: TemporalWorkflowSdk,
  run: EngineRun,
  { activityOptions }: TemporalFlowOptions,
): EngineJournal {
  const { nevertwicePerform } = sdk.proxyActivities<PerformActivity>(activityOptions);
  const decided = new Set<string>();
  sdk.setHandler(sdk.defineSignal<[string]>(decidedSignal), (step) => void decided.add(step));
  return {
    sideBySide: true,
    // What it asks is an activity, so its answer is in the history.
    decide: (_, ask) => ask(),
    perform: (_, request) => nevertwicePerform(run, request),
    sleep: (_, spanMs) => sdk.sleep(spanMs),
    awaitNews: (step, spanMs) => sdk.condition(() => decided.has(step), spanMs),
  };
}
