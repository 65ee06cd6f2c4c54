/**
 * The flow: a model assesses the ticket, a manager approves, the refund is issued, an event tells of
 * it.
 *
 * @module
 */
import { type Flow, type Tool, defineTool, flow, hours } from "nevertwice";
import { type ProviderClient, type ProviderEffect, ProviderError } from "nevertwice/testing";
import { z } from "zod";

/** What the customer wrote. */
export type Ticket = {
  readonly ticketId: string;
  readonly orderId: string;
  readonly text: string;
};

/** What the model decides: only what the business needs, and its words. */
const decisionSchema = z.object({
  ticketId: z.string(),
  orderId: z.string(),
  amountMinor: z.int().positive(),
  currency: z.string().length(3),
  reason: z.string(),
});

export type Decision = z.infer<typeof decisionSchema>;

/** Above this a manager is asked. Minor units. */
const approvalFromMinor = 20_000;

/** The refund tool. `reason` is the model's own words: neither part of the key nor sent. */
export function issueRefund(client: ProviderClient): Tool<ProviderEffect> {
  return defineTool({
    name: "issue_refund",
    kind: "non-idempotent",
    arguments: decisionSchema,
    intent: ({ args }) => `refund:order-${args.orderId}:ticket-${args.ticketId}`,
    businessArguments: ["orderId", "amountMinor", "currency"],
    contract: {
      mode: "window",
      // Short, so that the example is; a payment provider gets 30 s.
      timeoutMs: 2000,
      flightMs: 500,
      marginMs: 200,
      key: { shape: "uuid", retentionMs: hours(24), atomic: true, afterError: "replays" },
      lookUp: {
        lagMs: 0,
        authoritative: true,
        find: async ({ key, signal }) => {
          const refunds = await client.findEffects({ tag: key, signal });
          if (refunds.length === 0) return { answer: "absent" };
          const effects = refunds.map((refund) => ({
            status: "succeeded" as const,
            result: refund,
            providerId: refund.id,
          }));
          return { answer: "found", effects };
        },
      },
      providerId: (refund) => refund.id,
    },
    execute: async (args, call) => {
      try {
        return await client.createEffect({
          operation: "refund",
          body: { ...args },
          key: call.wireKey,
          tag: call.key,
          signal: call.signal,
          beforeWrite: call.beforeWrite,
        });
      } catch (error) {
        // Nothing was written to the socket: a fact that makes the same call safe at once.
        throw error instanceof ProviderError && !error.wroteBytes ? call.notSent(error) : error;
      }
    },
  });
}

/** The flow, with the model and the tool that it uses. */
export function refundTicketWith(
  model: (ticket: Ticket) => Promise<Decision>,
  refund: Tool<ProviderEffect>,
): Flow<Ticket, { readonly refundId: string }> {
  return flow("refund-ticket", async (f, ticket: Ticket) => {
    const decision = await f.decide("assess", () => model(ticket));
    if (decision.amountMinor > approvalFromMinor) {
      await f.approve("manager", decision, { tool: refund });
    }
    const { id } = await f.act("refund", refund, decision);
    const { orderId, amountMinor, currency } = decision;
    await f.emit("refund.issued", { id, orderId, amountMinor, currency }, { subject: orderId });
    return { refundId: id };
  });
}
