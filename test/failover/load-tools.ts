/** The tools of the load: one whose provider honours keys, and one whose provider can only be asked. */
import { type GuardedTool, type Tool, defineTool, hours } from "../../src/index.ts";
import { type ProviderClient, ProviderError } from "../../src/testing/fake-provider/index.ts";

/** `keyed`: sent again under its key. `asked`: looked up, and sent again when proved absent. */
export const toolNames = ["keyed", "asked"] as const;
export type ToolName = (typeof toolNames)[number];

interface OrderArgs extends Record<string, unknown> {
  orderId: string;
}

type Definition = GuardedTool<OrderArgs, "orderId", unknown>;

const orderSchema: Definition["arguments"] = {
  "~standard": {
    version: 1,
    vendor: "nevertwice-test",
    validate: (value) =>
      typeof (value as OrderArgs).orderId === "string"
        ? { value: value as OrderArgs }
        : { issues: [{ message: "not an order" }] },
  },
};

const contracts = {
  keyed: () => ({
    ...bounds,
    mode: "window" as const,
    key: { shape: "uuid", retentionMs: hours(24), atomic: true, afterError: "replays" } as const,
  }),
  asked: (client: ProviderClient) => ({
    ...bounds,
    mode: "proved-absence" as const,
    lookUp: {
      lagMs: 0,
      authoritative: true,
      timeoutMs: 5000,
      find: async ({ key, signal }: { key: string; signal: AbortSignal }) => {
        const effects = await client.findEffects({ tag: key, signal });
        if (effects.length === 0) return { answer: "absent" } as const;
        return {
          answer: "found",
          effects: effects.map((effect) => ({
            status: "succeeded" as const,
            result: effect,
            providerId: effect.id,
          })),
        } as const;
      },
    },
  }),
} satisfies Record<ToolName, (client: ProviderClient) => Definition["contract"]>;

/** A request that is written lands within a few milliseconds here; five seconds are for a busy machine. */
const bounds = { timeoutMs: 4000, flightMs: 5000, sendWithinMs: 2000, marginMs: 500 };

/** Declares both tools. */
export function loadTools(client: ProviderClient): Record<ToolName, Tool> {
  return { keyed: loadTool("keyed", client), asked: loadTool("asked", client) };
}

function loadTool(name: ToolName, client: ProviderClient): Tool {
  return defineTool({
    name,
    kind: "non-idempotent",
    arguments: orderSchema,
    intent: ({ args }: { args: OrderArgs }) => `${name}:order-${args.orderId}`,
    businessArguments: ["orderId"],
    contract: contracts[name](client),
    execute: async (args, call) => {
      try {
        return await client.createEffect({
          operation: name,
          body: args,
          tag: call.key,
          // The fake provider honours any key that it gets; this one's provider knows none.
          ...(name === "keyed" ? { key: call.wireKey } : {}),
          signal: call.signal,
          beforeWrite: call.beforeWrite,
        });
      } catch (error) {
        throw error instanceof ProviderError && !error.wroteBytes ? call.notSent(error) : error;
      }
    },
  });
}
