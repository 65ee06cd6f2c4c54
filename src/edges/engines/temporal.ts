/**
 * `nevertwice/engines/temporal`: the activity that a flow's steps run in, for the worker's process,
 * and people's decisions. The other half is `temporal-workflow`.
 *
 * @module
 */
import type { Client } from "@temporalio/client";
import { type ApprovalDecision, decideApproval } from "../../flow/approval.ts";
import type { ApprovalRecord } from "../../ledger/runs.ts";
import type { EffectStore } from "../../ledger/transaction.ts";
import { type EngineOptions, createEngineWorker } from "./shared/engine-worker.ts";
import type { EngineRun, StepAnswer, StepRequest } from "./shared/requests.ts";
import { runKeyOf } from "./shared/run-key.ts";
import { decidedSignal } from "./temporal-workflow.ts";

export type { EngineOptions } from "./shared/engine-worker.ts";
export { runKeyOf } from "./shared/run-key.ts";

/** What to register as activities, beside one's own. */
export interface FlowActivities {
  /** Does what a step asks for. Temporal may run it again after the effect: the effect stays one. */
  nevertwicePerform(run: EngineRun, request: StepRequest): Promise<StepAnswer>;
}

/**
 * Makes the activities of a worker.
 *
 * @example
 * const activities = { ...createFlowActivities({ store, guard, tools: [issueRefund] }), model };
 * const worker = await Worker.create({ taskQueue, workflowsPath, activities });
 */
export function createFlowActivities(options: EngineOptions): FlowActivities {
  const worker = createEngineWorker(options);
  return { nevertwicePerform: (run, request) => worker.perform(run, request) };
}

/**
 * Records a person's decision, then sends news of it to the workflow. When the news gets lost, the
 * workflow looks at the row by itself within fifteen minutes.
 *
 * @throws {NeverTwiceError} as `flows.decide`: APPROVAL_CONFLICT and others.
 */
export async function decideInTemporal(
  client: { readonly workflow: Pick<Client["workflow"], "getHandle"> },
  store: EffectStore,
  decision: ApprovalDecision,
): Promise<ApprovalRecord> {
  const decided = await decideApproval(store, decision);
  await client.workflow.getHandle(runKeyOf(decision)).signal(decidedSignal, decision.name);
  return decided;
}
