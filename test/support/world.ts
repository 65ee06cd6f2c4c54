/**
 * The world of a scenario: a real store, a fake provider that speaks HTTP and keeps the ledger, a
 * guarded refund tool, and the guard — the real one, or a pass-through that must make every scenario
 * fail.
 */
import { expect, onTestFinished } from "vitest";
import { z } from "zod";
import {
  type Contract,
  type ErrorCode,
  type Guard,
  type GuardOptions,
  type OperationRecord,
  type Outcome,
  type RunContext,
  type Tool,
  defineTool,
  hours,
  isNeverTwiceError,
} from "../../src/index.ts";
import {
  type FakeProvider,
  type ProviderBehaviour,
  type ProviderClient,
  ProviderError,
  createProviderClient,
  startFakeProvider,
} from "../../src/testing/fake-provider/index.ts";
import { executeRefund } from "./execute-refund.ts";
import { type CreateGuard, itHoldsAndCanFail } from "./scenario.ts";
import { type OpenStore, type StoreSuite, TestClock, describeStores } from "./stores.ts";
import { wholeList } from "./worker-params.ts";

export interface RefundArgs extends Record<string, unknown> {
  orderId: string;
  amountMinor: number;
  currency: string;
  reason?: string | undefined;
  ticketId?: string | undefined;
}
type BusinessField = "orderId" | "amountMinor" | "currency";
export type RefundContract = Contract<Readonly<Pick<RefundArgs, BusinessField>>, unknown>;

/** What a caller was told: EXECUTED, REPLAYED, or an error's code. */
export interface Told {
  readonly told: "EXECUTED" | "REPLAYED" | ErrorCode | "OTHER";
  readonly outcome: Outcome<unknown> | undefined;
  readonly error: unknown;
}

export interface World {
  readonly suite: StoreSuite;
  readonly opened: OpenStore;
  readonly clock: TestClock;
  readonly provider: FakeProvider;
  readonly client: ProviderClient;
  /** Guard A. */
  readonly guard: Guard;
  /** Another guard on its own connection to the same store: B, C … */
  another(options?: Partial<GuardOptions>): Promise<Guard>;
  /** The refund tool with other parts or another contract. */
  tool(change?: { contract?: Partial<RefundContract>; [part: string]: unknown }): Tool;
  readonly refund: Tool;
  /** Runs the refund (guard A, the €480 of order 8812, tenant acme) and says what the caller was told. */
  run(change?: RunChange): Promise<Told>;
  /** Moves the clocks of store and provider on. */
  advance(spanMs: number): void;
  /** The stored operation: of a key, or the only one there is. */
  row(key?: string): Promise<OperationRecord>;
  rows(): Promise<readonly OperationRecord[]>;
  /** Asserts how many effects the ledger holds. THE verdict. */
  assertEffects(count: number): void;
}

export interface RunChange {
  guard?: Guard;
  tool?: Tool;
  args?: unknown;
  context?: Partial<RunContext>;
}

export const refundArgs: RefundArgs = {
  orderId: "8812",
  ticketId: "5521",
  amountMinor: 48_000,
  currency: "EUR",
  reason: "Parcel arrived broken",
};

/** Stripe-like: key kept 24 h, atomic, everything saved; the look-up is consistent after one second. */
export const keyedContract: RefundContract & { readonly sendWithinMs: number } = {
  mode: "window",
  // What real time can reach is long, for a loaded machine is slow: it is not what scenarios are about.
  timeoutMs: 20_000,
  sendWithinMs: 10_000,
  flightMs: 2000,
  marginMs: 1000,
  key: {
    shape: "uuid",
    retentionMs: hours(24),
    atomic: true,
    afterError: "replays",
    replaysDeclines: true,
  },
};

export interface ScenarioOptions {
  readonly behaviour?: ProviderBehaviour;
  readonly contract?: Partial<RefundContract>;
  /** False: without the look-up in the default contract. */
  readonly lookUp?: boolean;
  readonly guard?: Partial<GuardOptions>;
}

/**
 * Registers a scenario on both stores, and for each store the check that it can fail: with the guard
 * replaced by a pass-through, an assertion of it must break.
 */
export function scenario(
  title: string,
  options: ScenarioOptions,
  play: (world: World) => Promise<void>,
): void {
  describeStores(title, (suite) => {
    itHoldsAndCanFail({ build: (create) => createWorld(suite, options, create), play });
  });
}

async function createWorld(
  suite: StoreSuite,
  options: ScenarioOptions,
  create: CreateGuard,
): Promise<World> {
  const clock = new TestClock();
  const opened = await suite.open({ clock });
  const provider = await startFakeProvider(
    options.behaviour === undefined ? {} : { behaviour: options.behaviour },
  );
  const client = createProviderClient({ url: provider.url });
  onTestFinished(async () => {
    client.close();
    await provider.close();
  });
  const guard = await create({ store: opened.store, ...options.guard });
  const tool: World["tool"] = (change = {}) => refundTool(client, options, change);
  const refund = tool();
  const world: World = {
    suite,
    opened,
    clock,
    provider,
    client,
    guard,
    refund,
    tool,
    another: async (more = {}) =>
      create({ store: await opened.again({ clock }), ...options.guard, ...more }),
    run: ({ guard: by = guard, tool: of = refund, args = refundArgs, context = {} } = {}) =>
      toldBy(by.run(of, args, { tenant: "acme", ...context })),
    advance: (spanMs) => {
      clock.advance(spanMs);
      provider.advance(spanMs);
    },
    rows: () => opened.store.list(wholeList),
    row: async (key) => {
      const rows = await world.rows();
      const found = key === undefined ? rows : rows.filter((row) => row.key === key);
      expect(found).toHaveLength(1);
      return found[0] as OperationRecord;
    },
    assertEffects: (count) =>
      expect(provider.ledger(), "effects in the provider's ledger").toHaveLength(count),
  };
  return world;
}

/** What a caller was told, as data. */
export async function toldBy(running: Promise<Outcome<unknown>>): Promise<Told> {
  try {
    const outcome = await running;
    return { told: outcome.replayed ? "REPLAYED" : "EXECUTED", outcome, error: undefined };
  } catch (error) {
    return { told: isNeverTwiceError(error) ? error.code : "OTHER", outcome: undefined, error };
  }
}

function refundTool(
  client: ProviderClient,
  options: ScenarioOptions,
  change: { contract?: Partial<RefundContract>; [part: string]: unknown },
): Tool {
  const { contract = {}, ...parts } = change;
  const lookUp = options.lookUp === false ? {} : { lookUp: refundLookUp(client) };
  const declaration = {
    name: "issue_refund",
    operation: "refund",
    kind: "non-idempotent",
    arguments: z.object({
      orderId: z.string(),
      amountMinor: z.int(),
      currency: z.string(),
      reason: z.string().optional(),
      ticketId: z.string().optional(),
    }),
    intent: ({ args }: { args: RefundArgs }) =>
      `refund:order-${args.orderId}:ticket-${args.ticketId ?? "none"}`,
    businessArguments: ["orderId", "amountMinor", "currency"],
    execute: executeRefund(client),
    ...parts,
    contract: {
      ...keyedContract,
      ...lookUp,
      classify: classifyProviderError,
      ...options.contract,
      ...contract,
    },
  };
  return defineTool(declaration as unknown as Parameters<typeof defineTool>[0]);
}

// Where scenarios look for everything that they are made of.
export { executeRefund };

/** Finds a refund by its tag. */
export function refundLookUp(client: ProviderClient): NonNullable<RefundContract["lookUp"]> {
  return {
    lagMs: 1000,
    authoritative: true,
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

/** 402 is definitive, 429 is turned away before execution; all else is unknown. */
export function classifyProviderError(error: unknown): "definitive" | "not-executed" | "unknown" {
  if (!(error instanceof ProviderError)) return "unknown";
  if (error.status === 402) return "definitive";
  return error.status === 429 ? "not-executed" : "unknown";
}
