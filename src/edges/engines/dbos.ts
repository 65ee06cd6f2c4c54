/**
 * `nevertwice/engines/dbos`: flows as DBOS workflows, their steps in DBOS's own tables.
 *
 * A step is a `DBOS.runStep`, a sleep `DBOS.sleep`, news of an approval a message
 * (https://docs.dbos.dev/typescript/reference/methods).
 *
 * @module
 */
import type { DBOS, WorkflowHandle } from "@dbos-inc/dbos-sdk";
import type { Json } from "../../base/plain-json.ts";
import { type ApprovalDecision, decideApproval } from "../../flow/approval.ts";
import type { Flow } from "../../flow/flow.ts";
import type { ApprovalRecord, RunId } from "../../ledger/runs.ts";
import { type EngineJournal, runOnEngine } from "./shared/engine-context.ts";
import { type EngineOptions, createEngineWorker } from "./shared/engine-worker.ts";
import { runIdOf, runKeyOf } from "./shared/run-key.ts";

export type { EngineOptions } from "./shared/engine-worker.ts";
export { runKeyOf } from "./shared/run-key.ts";

/** What of DBOS is used: the class `DBOS` itself fits. */
export type DbosSdk = Pick<
  typeof DBOS,
  "registerWorkflow" | "startWorkflow" | "runStep" | "sleep" | "recv" | "send"
> & { readonly workflowID: string | undefined };

/** Options of {@link dbosFlow}. */
export interface DbosOptions extends EngineOptions {
  /**
   * How often a step is tried that ends in an error which is not ours, e.g. of the model's API.
   * Default 10, at growing intervals from one second.
   */
  readonly maxAttempts?: number;
}

/** A flow that is registered with DBOS. */
export interface DbosFlow<Input, Output> {
  /** Starts the run; the same id again is the same run, whose handle is returned. */
  start(id: RunId, input: Input): Promise<WorkflowHandle<Output>>;
  /**
   * Records a person's decision, then sends news of it to the run.
   *
   * @throws {NeverTwiceError} as `flows.decide`: APPROVAL_CONFLICT and others.
   */
  decide(decision: ApprovalDecision): Promise<ApprovalRecord>;
}

/**
 * Registers the flow with DBOS, under its name and version; call it before `DBOS.launch`, which takes
 * up what was left behind.
 *
 * @example
 * const refunds = dbosFlow(DBOS, refundTicket, { store, guard, tools: [issueRefund] });
 * await DBOS.launch();
 * await refunds.start({ tenant: "acme", runId: `ticket-${ticket.id}` }, ticket);
 */
export function dbosFlow<Input extends Json, Output>(
  dbos: DbosSdk,
  flow: Flow<Input, Output>,
  options: DbosOptions,
): DbosFlow<Input, Output> {
  const worker = createEngineWorker(options);
  const { name, version } = flow;
  const retries = { retriesAllowed: true, maxAttempts: options.maxAttempts ?? 10 };
  const workflow = dbos.registerWorkflow(
    (input: Input): Promise<Output> => {
      const run = { ...runIdOf(dbos.workflowID ?? ""), flow: name, version };
      const journal: EngineJournal = {
        // It knows a step by its number alone, and two chains of steps would be numbered anew.
        sideBySide: false,
        decide: (step, ask) => dbos.runStep(ask, { name: step, ...retries }),
        perform: (step, request) =>
          dbos.runStep(() => worker.perform(run, request), { name: step, ...retries }),
        sleep: (_, spanMs) => dbos.sleep(spanMs),
        awaitNews: async (step, spanMs) =>
          (await dbos.recv<boolean>(topicOf(step), spanMs / 1000)) !== null,
      };
      return runOnEngine(flow, run, input, journal);
    },
    { name: version === 1 ? name : `${name} v${version}` },
  );
  return {
    start: (id, input) => dbos.startWorkflow(workflow, { workflowID: runKeyOf(id) })(input),
    decide: async (decision) => {
      const decided = await decideApproval(options.store, decision);
      await dbos.send(runKeyOf(decision), true, topicOf(decision.name));
      return decided;
    },
  };
}

function topicOf(step: string): string {
  return `approval:${step}`;
}
