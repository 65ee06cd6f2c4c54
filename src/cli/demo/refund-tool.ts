/**
 * The refund tool, once bare and once guarded.
 *
 * @module
 */
import type { StandardSchemaV1 } from "@standard-schema/spec";
import { hours } from "../../base/duration.ts";
import { defineTool } from "../../guard/define-tool.ts";
import type { LookUpContract } from "../../guard/contract.ts";
import type { ExecuteCall, Tool } from "../../guard/tool.ts";
import {
  type ProviderClient,
  type ProviderEffect,
  ProviderError,
} from "../../testing/fake-provider/index.ts";
import type { Decision } from "./story.ts";

/** Short, so that the demo is, and long enough for a busy machine; a real call would wait for 30 s. */
const callTimeoutMs = 1500;
const lookUpTimeoutMs = 3000;
const leaseMs = 4000;

type RefundArguments = Decision & Record<string, unknown>;
type BusinessArguments = Readonly<Omit<Decision, "reason">>;

/** The tool as it is often written: the idempotency key is made where the request is. */
export function bareRefund(
  client: ProviderClient,
  decision: Decision,
  idempotencyKey: string,
): Promise<ProviderEffect> {
  const body = { ...decision };
  return client.createEffect({
    operation: "refund",
    body,
    key: idempotencyKey,
    timeoutMs: callTimeoutMs,
  });
}

/** The same tool under the guard. */
export function guardedRefund(client: ProviderClient): Tool<ProviderEffect> {
  return defineTool({
    name: "issue_refund",
    operation: "refund",
    kind: "non-idempotent",
    arguments: refundSchema,
    intent: ({ args, trusted }) => `refund:order-${args.orderId}:ticket-${ticketOf(trusted)}`,
    businessArguments: ["orderId", "amountMinor", "currency"],
    contract: {
      mode: "window",
      timeoutMs: callTimeoutMs,
      leaseMs,
      flightMs: 1000,
      marginMs: 500,
      // What Stripe promises: keys are kept for a day, and the first answer is replayed.
      key: {
        shape: "uuid",
        retentionMs: hours(24),
        atomic: true,
        afterError: "replays",
        replaysDeclines: true,
      },
      lookUp: refundLookUp(client),
      providerId: (refund) => refund.id,
    },
    execute: (args, call) => sendRefund(client, args, call),
  });
}

/** The ticket is the orchestrator's word, not the model's. */
function ticketOf(trusted: Readonly<Record<string, unknown>>): string {
  const { ticketId } = trusted;
  if (typeof ticketId === "string") return ticketId;
  throw new TypeError("the orchestrator named no ticket");
}

async function sendRefund(
  client: ProviderClient,
  args: BusinessArguments,
  call: ExecuteCall,
): Promise<ProviderEffect> {
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
    throw error instanceof ProviderError && !error.wroteBytes ? call.notSent(error) : error;
  }
}

function refundLookUp(client: ProviderClient): LookUpContract<BusinessArguments, ProviderEffect> {
  return {
    lagMs: 0,
    authoritative: true,
    timeoutMs: lookUpTimeoutMs,
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
  };
}

/** Any Standard Schema validator would do; this one needs no package. */
const refundSchema: StandardSchemaV1<unknown, RefundArguments> = {
  "~standard": {
    version: 1,
    vendor: "nevertwice-demo",
    validate: (value) =>
      isRefund(value) ? { value } : { issues: [{ message: "this is no refund" }] },
  },
};

function isRefund(value: unknown): value is RefundArguments {
  const { orderId, amountMinor, currency, reason } = (value ?? {}) as Record<string, unknown>;
  return (
    typeof orderId === "string" &&
    Number.isSafeInteger(amountMinor) &&
    typeof currency === "string" &&
    typeof reason === "string"
  );
}
