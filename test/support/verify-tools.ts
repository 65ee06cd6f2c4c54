/**
 * A file for `nevertwice verify`, as a user writes it in TypeScript: a right tool and a wrong one, on
 * the provider that PROVIDER_URL names.
 */
import { z } from "zod";
import { type Tool, defineTool, hours } from "../../src/index.ts";
import {
  createProviderClient,
  createRemoteControl,
  defineCheck,
  type ToolCheck,
} from "../../src/testing/index.ts";
import { classifyProviderError, executeRefund, refundLookUp } from "./world.ts";

const url = process.env["PROVIDER_URL"] ?? "";
const client = createProviderClient({ url });
const provider = createRemoteControl(url);

function refundTool(
  name: string,
  businessArguments: ["orderId", "amountMinor", ...string[]],
): Tool {
  const declaration = {
    name,
    kind: "non-idempotent",
    arguments: z.object({ orderId: z.string(), amountMinor: z.int(), reason: z.string() }),
    intent: ({ args }: { args: { orderId: string } }) => `refund:${args.orderId}`,
    businessArguments,
    execute: executeRefund(client),
    contract: {
      mode: "window",
      timeoutMs: 10_000,
      flightMs: 10_000,
      key: { shape: "uuid", retentionMs: hours(24), atomic: true, afterError: "replays" },
      lookUp: refundLookUp(client),
      classify: classifyProviderError,
    },
  };
  return defineTool(declaration as unknown as Parameters<typeof defineTool>[0]);
}

function checkOf(tool: Tool): ToolCheck {
  return defineCheck({
    tool,
    example: (n, id) => ({
      args: { orderId: `order-${id}`, amountMinor: 100 * n, reason: "Parcel arrived broken" },
      context: { tenant: "acme" },
    }),
    countEffects: async ({ args }) =>
      (await provider.ledger()).filter((row) => row.body["orderId"] === args["orderId"]).length,
    reword: (args) => ({ ...args, reason: "It came in pieces" }),
    modify: (args) => ({ ...args, amountMinor: 1 }),
    faults: {
      dropReply: () => provider.fault({ dropReplyAfterCommit: true }),
      refuse: () => provider.fault({ decline: true }),
      advance: (spanMs) => provider.advance(spanMs),
    },
  });
}

export const checks = [
  checkOf(refundTool("issue_refund", ["orderId", "amountMinor"])),
  checkOf(refundTool("issue_wordy_refund", ["orderId", "amountMinor", "reason"])),
];
