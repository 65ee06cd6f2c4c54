/** The tool of each kind, and what kind of provider it calls. Time limits are far: machines are slow. */
import { type Contract, type GuardedTool, type Tool, days, defineTool } from "../../src/index.ts";
import {
  type ProviderBehaviour,
  type ProviderClient,
} from "../../src/testing/fake-provider/index.ts";
import { executeRefund } from "../support/execute-refund.ts";
import type { Kind } from "./cells.ts";

interface RefundArgs extends Record<string, unknown> {
  orderId: string;
  amountMinor: number;
}

type RefundContract = Contract<Readonly<RefundArgs>, unknown>;

/** By hand: a schema library would make up a good part of a worker's start. */
const schema: GuardedTool<RefundArgs, "orderId" | "amountMinor", unknown>["arguments"] = {
  "~standard": {
    version: 1,
    vendor: "nevertwice-test",
    validate: (value) => (isRefund(value) ? { value } : { issues: [{ message: "not a refund" }] }),
  },
};

function isRefund(value: unknown): value is RefundArgs {
  return (
    typeof value === "object" && value !== null && "orderId" in value && "amountMinor" in value
  );
}

/** Longer than the lease (25 s), and than all that was sent needs to settle (42 s). */
export const longMs = 120_000;

/** What the provider of a kind does. */
export const behaviours: Readonly<Record<Kind, ProviderBehaviour>> = {
  keyed: { keys: "keyed" },
  unkeyed: { keys: "unkeyed" },
  natural: { keys: "natural", naturalField: "orderId" },
  "look-up-only": { keys: "unkeyed" },
};

/** The tool of one cell. Its name is the cell's own, so that a sweeper can be sent to this cell alone. */
export function refundTool(client: ProviderClient, kind: Kind, id: number): Tool {
  return defineTool({
    name: `refund_${id}`,
    operation: "refund",
    kind: "non-idempotent",
    arguments: schema,
    intent: ({ args }: { args: RefundArgs }) => `refund:${args.orderId}`,
    businessArguments: ["orderId", "amountMinor"],
    contract: contractOf(client, kind),
    execute: executeRefund(client),
  });
}

/** The refund of one cell. */
export function refundOf(id: number): RefundArgs {
  return { orderId: orderOf(id), amountMinor: 48_000 };
}

/** The order of one cell. */
export function orderOf(id: number): string {
  return `order-${id}`;
}

function contractOf(client: ProviderClient, kind: Kind): RefundContract {
  const limits = { timeoutMs: 20_000, flightMs: 10_000, sendWithinMs: 30_000, marginMs: 1000 };
  const lookUp = lookUpBy(client);
  switch (kind) {
    case "keyed":
      return {
        ...limits,
        mode: "window",
        key: { shape: "uuid", retentionMs: days(1), atomic: true, afterError: "replays" },
      };
    case "unkeyed":
      return { ...limits, mode: "strict" };
    case "natural":
      return {
        ...limits,
        mode: "window",
        key: { shape: "hex", retentionMs: days(365), atomic: true, afterError: "burnt" },
        lookUp,
      };
    case "look-up-only":
      return { ...limits, mode: "proved-absence", lookUp: { ...lookUp, authoritative: true } };
  }
}

function lookUpBy(client: ProviderClient): NonNullable<RefundContract["lookUp"]> {
  return {
    lagMs: 1000,
    timeoutMs: 20_000,
    find: async ({ key, signal }) => {
      const effects = await client.findEffects({ tag: key, signal });
      if (effects.length === 0) return { answer: "absent" };
      return {
        answer: "found",
        effects: effects.map((effect) => ({
          status: "succeeded",
          result: effect,
          providerId: effect.id,
        })),
      };
    },
  };
}
