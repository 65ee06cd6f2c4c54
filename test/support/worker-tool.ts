/** The refund tool of a worker: like that of `world.ts`, but made of plain data. */
import {
  type Contract,
  type GuardedTool,
  type Mode,
  type Tool,
  defineTool,
  hours,
} from "../../src/index.ts";
import { type ProviderClient, ProviderError } from "../../src/testing/fake-provider/index.ts";
import { executeRefund } from "./execute-refund.ts";

/** What a worker's downstream promises. The defaults are Stripe-like: keyed, and it can be asked. */
export interface WorkerContract {
  readonly mode?: Mode;
  readonly keyed?: boolean;
  readonly lookUp?: boolean;
  readonly timeoutMs?: number;
  readonly leaseMs?: number;
  readonly renewLease?: boolean;
}

interface RefundArgs extends Record<string, unknown> {
  orderId: string;
  amountMinor: number;
}

/** By hand: a schema library would make up a good part of a worker's start. */
const refundSchema: GuardedTool<RefundArgs, "orderId" | "amountMinor", unknown>["arguments"] = {
  "~standard": {
    version: 1,
    vendor: "nevertwice-test",
    validate: (value) =>
      typeof (value as RefundArgs).orderId === "string"
        ? { value: value as RefundArgs }
        : { issues: [{ message: "not a refund" }] },
  },
};

/** Declares the tool. With `undo` its effect can be taken back. */
export function workerRefund(
  client: ProviderClient,
  options: WorkerContract,
  onAbort: () => void = () => {},
  undo?: Tool,
): Tool {
  const send = executeRefund(client);
  return defineTool({
    name: "issue_refund",
    kind: "non-idempotent",
    arguments: refundSchema,
    intent: ({ args }: { args: RefundArgs }) => `refund:order-${args.orderId}`,
    businessArguments: ["orderId", "amountMinor"],
    contract: contractOf(client, options),
    ...(undo === undefined ? {} : { compensation: { tool: undo, arguments: argumentsOf } }),
    execute: async (args, call) => {
      call.signal.addEventListener("abort", onAbort);
      return send(args, call);
    },
  });
}

/** Takes a refund back. */
export function workerTakeBack(client: ProviderClient): Tool {
  return defineTool({
    name: "take_back",
    kind: "non-idempotent",
    arguments: refundSchema,
    intent: ({ args }: { args: RefundArgs }) => `take-back:order-${args.orderId}`,
    businessArguments: ["orderId", "amountMinor"],
    contract: contractOf(client, {}),
    execute: ({ orderId }, { key, wireKey, signal, beforeWrite }) => {
      const request = { operation: "take-back", body: { orderId }, key: wireKey, tag: key };
      return client.createEffect({ ...request, signal, beforeWrite });
    },
  });
}

function argumentsOf(effect: { readonly arguments: unknown }): unknown {
  return effect.arguments;
}

function contractOf(
  client: ProviderClient,
  options: WorkerContract,
): Contract<RefundArgs, unknown> {
  const { mode = "window", keyed = true, lookUp = true, timeoutMs = 30_000 } = options;
  return {
    mode,
    timeoutMs,
    sendWithinMs: 10_000,
    flightMs: 2000,
    marginMs: 1000,
    ...(options.leaseMs === undefined ? {} : { leaseMs: options.leaseMs }),
    ...(options.renewLease === undefined ? {} : { renewLease: options.renewLease }),
    ...(keyed
      ? { key: { shape: "uuid", retentionMs: hours(24), atomic: true, afterError: "replays" } }
      : {}),
    ...(lookUp ? { lookUp: lookUpBy(client, options.leaseMs) } : {}),
    classify: (error) =>
      error instanceof ProviderError && error.status === 402 ? "definitive" : "unknown",
  };
}

function lookUpBy(
  client: ProviderClient,
  leaseMs = 30_000,
): NonNullable<Contract<RefundArgs, unknown>["lookUp"]> {
  return {
    lagMs: 1000,
    authoritative: true,
    // As long as the lease allows: a loaded machine is slow.
    timeoutMs: leaseMs < 4000 ? 300 : Math.min(leaseMs - 1000, 20_000),
    find: async ({ key, signal }) => {
      const effects = await client.findEffects({ tag: key, signal });
      if (effects.length === 0) return { answer: "absent" };
      return {
        answer: "found",
        effects: effects.map((effect) => ({
          status: effect.status as "succeeded" | "pending",
          result: effect,
          providerId: effect.id,
        })),
      };
    },
  };
}
