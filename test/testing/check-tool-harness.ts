/**
 * A refund tool on a fake provider, right in every respect, and ways to make it wrong in one.
 */
import { expect, onTestFinished } from "vitest";
import { z } from "zod";
import {
  type CheckName,
  type CheckOptions,
  type CheckReport,
  type CheckResult,
  type FakeProvider,
  type ProviderBehaviour,
  type ProviderClient,
  checkTool,
  createProviderClient,
  fakeProviderFaults,
  formatReport,
  startFakeProvider,
} from "../../src/testing/index.ts";
import { type Tool, defineTool, hours } from "../../src/index.ts";
import {
  type RefundContract,
  classifyProviderError,
  executeRefund,
  refundLookUp,
} from "../support/world.ts";

/** A provider, its client, and what a check needs to know of them. */
export interface Sandbox {
  readonly provider: FakeProvider;
  readonly client: ProviderClient;
  readonly options: CheckOptions;
  /** The refund tool with other parts or another contract. */
  tool(change?: ToolChange): Tool;
  /** Checks a tool of this sandbox. */
  check(change?: ToolChange, more?: Partial<CheckOptions>): Promise<CheckReport>;
}

export interface ToolChange {
  readonly contract?: Partial<RefundContract>;
  readonly [part: string]: unknown;
}

/** Stripe-like, as the ideal fake provider is. */
const goodContract: RefundContract = {
  mode: "window",
  timeoutMs: 5000,
  flightMs: 5000,
  marginMs: 1000,
  key: {
    shape: "uuid",
    retentionMs: hours(24),
    atomic: true,
    afterError: "replays",
    replaysDeclines: true,
  },
  classify: classifyProviderError,
  providerId: (result) => (result as { id: string }).id,
};

/** Starts a sandbox for the running test. */
export async function startSandbox(behaviour: ProviderBehaviour = {}): Promise<Sandbox> {
  const provider = await startFakeProvider({ behaviour });
  const client = createProviderClient({ url: provider.url });
  onTestFinished(async () => {
    client.close();
    await provider.close();
  });
  const options: CheckOptions = {
    example: (n, id) => ({
      args: {
        orderId: `order-${id}`,
        ticketId: `ticket-${id}`,
        amountMinor: 1000 + n,
        currency: "EUR",
        reason: "Parcel arrived broken",
      },
      context: { tenant: "acme", workflowId: `complaint-${id}`, trusted: { runId: `run-${id}` } },
    }),
    countEffects: ({ args }) =>
      provider.ledger().filter((row) => row.body["orderId"] === args["orderId"]).length,
    reword: (args) => ({ ...args, reason: "The customer says that it came in pieces" }),
    modify: (args) => ({ ...args, amountMinor: 999_999 }),
    faults: fakeProviderFaults(provider),
  };
  const tool = (change: ToolChange = {}): Tool => refundTool(client, change);
  return {
    provider,
    client,
    options,
    tool,
    check: (change, more = {}) => checkTool(tool(change), { ...options, ...more }),
  };
}

function refundTool(client: ProviderClient, { contract = {}, ...parts }: ToolChange): Tool {
  const declaration = {
    name: "issue_refund",
    kind: "non-idempotent",
    arguments: z.object({
      orderId: z.string(),
      ticketId: z.string(),
      amountMinor: z.int(),
      currency: z.string(),
      reason: z.string(),
    }),
    intent: ({ args }: { args: Record<string, string> }) =>
      `refund:${args["orderId"]}:${args["ticketId"]}`,
    businessArguments: ["orderId", "amountMinor", "currency"],
    execute: executeRefund(client),
    ...parts,
    contract: {
      ...goodContract,
      lookUp: refundLookUp(client),
      ...contract,
    },
  };
  return defineTool(declaration as unknown as Parameters<typeof defineTool>[0]);
}

/** One check of a report. */
export function resultOf(report: CheckReport, name: CheckName): CheckResult {
  const found = report.checks.find((check) => check.name === name);
  if (found === undefined) throw new Error(`the report has no check ${name}`);
  return found;
}

/** Asserts which checks failed, and shows the table if it were others. */
export function expectFailures(report: CheckReport, names: readonly CheckName[]): void {
  const failed = report.checks.filter(({ verdict }) => verdict === "fail").map(({ name }) => name);
  expect(failed, formatReport(report)).toEqual(names);
  expect(report.ok).toBe(names.length === 0);
}
