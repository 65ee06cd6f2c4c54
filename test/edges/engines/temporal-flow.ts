/** Workflow code, as a user's file of workflows has it: what it imports goes into Temporal's sandbox. */
import * as workflow from "@temporalio/workflow";
import { flow, temporalFlow, toolNamed } from "../../../src/edges/engines/temporal-workflow.ts";

const { model } = workflow.proxyActivities<{
  model(): Promise<{ orderId: string; ticketId: string; amountMinor: number; reason: string }>;
}>({ startToCloseTimeout: "1 minute" });

const issueRefund = toolNamed<{ id: string }>("issue_refund");

export const refundTicket = temporalFlow(
  workflow,
  flow("refund-ticket", async (f) => {
    const decision = await f.decide("assess", () => model());
    await f.approve("manager", decision, { tool: issueRefund });
    return f.act("refund", issueRefund, decision);
  }),
  { activityOptions: { startToCloseTimeout: "1 minute" } },
);
