/**
 * What tests of engines share: a store, a guard and a provider with a ledger, the refund flow, and a
 * model that counts how often it is asked.
 */
import { expect, onTestFinished } from "vitest";
import { z } from "zod";
import {
  type ApprovalRecord,
  type EffectStore,
  type Flow,
  type Guard,
  type NeverTwiceError,
  type Tool,
  createGuard,
  defineTool,
  flow,
} from "../../../src/index.ts";
import {
  type FakeProvider,
  createProviderClient,
  startFakeProvider,
} from "../../../src/testing/fake-provider/index.ts";
import { passThroughGuard } from "../../support/pass-through.ts";
import {
  classifyProviderError,
  executeRefund,
  keyedContract,
  refundLookUp,
} from "../../support/world.ts";

export const ticket = { orderId: "8812", ticketId: "5521", text: "It arrived broken." };

export interface EngineWorld {
  readonly store: EffectStore;
  readonly guard: Guard;
  readonly provider: FakeProvider;
  readonly refund: Tool;
  readonly prompts: () => number;
  readonly model: () => Promise<Decision>;
  /** The approval of the run, once it is asked for. */
  approvalOf(runId: string): Promise<ApprovalRecord>;
  /** Ids of all events. */
  eventIds(): Promise<readonly string[]>;
}

type Decision = { orderId: string; ticketId: string; amountMinor: number; reason: string };

/** With `passThrough` nothing guards: what a test claims must break then. */
export async function openEngineWorld(
  store: EffectStore,
  passThrough = false,
): Promise<EngineWorld> {
  const provider = await startFakeProvider();
  const client = createProviderClient({ url: provider.url });
  onTestFinished(async () => {
    client.close();
    await provider.close();
  });
  const refund = refundTool({ client, provider });
  const real = await createGuard({ store, tools: [refund] });
  const none = await passThroughGuard({ store, tools: [refund] });
  const guard: Guard = passThrough ? { ...real, run: (...call) => none.run(...call) } : real;
  let prompts = 0;
  return {
    store,
    guard,
    provider,
    refund,
    prompts: () => prompts,
    model: async () => {
      prompts += 1;
      const { orderId, ticketId } = ticket;
      return { orderId, ticketId, amountMinor: 48_000, reason: `words ${prompts}` };
    },
    approvalOf: async (runId) => {
      const asked = { current: undefined as ApprovalRecord | undefined };
      await expect
        .poll(async () => {
          const open = { tenant: "acme", runId, status: "OPEN", limit: 10 } as const;
          const found = await store.runs.listApprovals({ ...open, after: null });
          [asked.current] = found;
          return found.length;
        })
        .toBe(1);
      if (asked.current === undefined) throw new Error("no approval was asked for");
      return asked.current;
    },
    eventIds: async () => {
      const all = { tenant: null, status: null, beforePosition: null, limit: 100 };
      return (await store.outbox.list(all)).map(({ id }) => id);
    },
  };
}

/** By the real clock; a machine that stands still for some seconds changes nothing. */
function refundTool({ client, provider }: Outside): Tool {
  const { lagMs: _, ...lookUp } = refundLookUp(client);
  const contract = {
    ...keyedContract,
    timeoutMs: 20_000,
    leaseMs: 30_000,
    flightMs: 300,
    marginMs: 200,
    sendWithinMs: 500,
    lookUp: { ...lookUp, lagMs: 0 },
    providerId: (refund: { id: string }) => refund.id,
    classify: classifyProviderError,
  };
  const send = executeRefund(client);
  const takeBack = defineTool({
    name: "take_back",
    kind: "non-idempotent",
    arguments: z.object({ orderId: z.string() }),
    intent: ({ args }) => `take-back:${args.orderId}`,
    businessArguments: ["orderId"],
    contract: contract as never,
    execute: ({ orderId }, { key, wireKey, signal, beforeWrite }) => {
      const request = { operation: "take-back", body: { orderId }, key: wireKey, tag: key };
      return client.createEffect({ ...request, signal, beforeWrite });
    },
  });
  return defineTool({
    name: "issue_refund",
    kind: "non-idempotent",
    arguments: z.object({
      orderId: z.string(),
      ticketId: z.string(),
      amountMinor: z.int(),
      reason: z.string(),
    }),
    intent: ({ args }) => `refund:order-${args.orderId}:ticket-${args.ticketId}`,
    businessArguments: ["orderId", "amountMinor"],
    contract: contract as never,
    compensation: {
      tool: takeBack,
      arguments: (effect: { arguments: { orderId: string } }) => ({
        orderId: effect.arguments.orderId,
      }),
    },
    execute: async (args, call) => {
      // Side by side with another one: it is sent second.
      if (args.orderId === second.orderId) {
        await expect.poll(() => provider.arrivals().length, { interval: 5 }).toBeGreaterThan(0);
      }
      return send(args, call);
    },
  });
}

interface Outside {
  readonly client: ReturnType<typeof createProviderClient>;
  readonly provider: FakeProvider;
}

/**
 * The refund flow. `afterEffect` is awaited in the step that refunds, once the refund is made: what
 * throws there stands for a process that ends before the engine records the step.
 */
export function refundFlow(
  { model }: Pick<EngineWorld, "model">,
  refund: Tool,
): Flow<typeof ticket, { by: string; eventId: string }> {
  return flow("refund-ticket", async (f) => {
    const decision = await f.decide("assess", model);
    const { by } = await f.approve("manager", decision, { tool: refund });
    const refunded = await f.act("refund", refund, decision);
    await f.sleep("cool-down", 50);
    const eventId = await f.emit("refund.issued", refunded, { subject: ticket.orderId });
    return { by, eventId };
  });
}

/** A person's yes to the approval as it was read. */
export function yesTo({ name, version, fingerprint }: ApprovalRecord) {
  const by = "lead@acme";
  const why = "the photo shows it";
  return { name, version, fingerprint, decision: "approve" as const, by, why };
}

const first = { orderId: "a", ticketId: "1", amountMinor: 100, reason: "late" };
const second = { ...first, orderId: "b" };

/** What became of {@link sagaFlow}. */
export interface SagaEnd {
  readonly code: string;
  readonly undone: readonly string[];
}

/** Two refunds, of which the test has the second refused, and the undoing of what there is. */
export function sagaFlow(
  name: string,
  refund: Tool,
  order: "one by one" | "side by side",
): Flow<typeof ticket, SagaEnd> {
  return flow(name, async (f) => {
    try {
      const acting = f.act("first", refund, first);
      if (order === "one by one") await acting;
      await Promise.all([acting, f.act("second", refund, second)]);
      return { code: "nothing", undone: [] };
    } catch (error) {
      const { code } = error as NeverTwiceError;
      if (code !== "OPERATION_FAILED") throw error;
      return { code, undone: await f.compensate("undo") };
    }
  });
}

/** One refund, whose answer the engine gives up waiting for, and the undoing of what it did. */
export function givenUpFlow(name: string, refund: Tool): Flow<typeof ticket, readonly string[]> {
  return flow(name, async (f) => {
    const had = await f.act("refund", refund, first).then(
      () => true,
      () => false,
    );
    return had ? [] : f.compensate("undo");
  });
}

/** Asks before it refunds, and returns what was answered. */
export function askingFlow(
  name: string,
  refund: Tool,
  waitMs: number,
): Flow<typeof ticket, { readonly code: string }> {
  return flow(name, async (f) => {
    try {
      await f.approve("manager", first, { tool: refund, waitMs });
      await f.act("refund", refund, first);
      return { code: "nothing" };
    } catch (error) {
      return { code: (error as NeverTwiceError).code };
    }
  });
}

/** What the provider made, in order. */
export function ledgerOf({ provider }: EngineWorld): readonly string[] {
  return provider
    .ledger()
    .map(({ operation, body }) => `${operation} ${body["orderId"] as string}`);
}

/** A person's no. */
export function noTo(approval: ApprovalRecord) {
  return { ...yesTo(approval), decision: "decline" as const };
}

/** The guard, but the process "ends" so often after an effect before anybody hears of it. */
export function dyingAfterEffect(
  guard: Guard,
  deaths: number,
  tool?: string,
): { guard: Guard; died: () => number } {
  let died = 0;
  const run = async (...call: Parameters<Guard["run"]>) => {
    const outcome = await guard.run(...call);
    if (died < deaths && (tool ?? call[0].name) === call[0].name) {
      died += 1;
      throw new Error("the process ended before the engine recorded the step");
    }
    return outcome;
  };
  return { guard: { ...guard, run: run as Guard["run"] }, died: () => died };
}
