/**
 * The article's story over the official Stripe SDK: the refund's answer is lost, the orchestrator retries,
 * the worker is redeployed, and the agent reads the complaint again and words it differently. Stripe's own
 * ledger holds one refund, whatever went wrong with the first request.
 */
import { Stripe } from "stripe";
import { expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { type Guard, type GuardOptions, createGuard, defineTool } from "../../../src/index.ts";
import { stripeRefund } from "../../../src/edges/providers/stripe.ts";
import { passThroughGuard } from "../../support/pass-through.ts";
import type { Counterpart, Fault } from "../../support/providers/counterpart.ts";
import { startStripe } from "../../support/providers/stripe.ts";
import { ringingRuntime } from "../../support/store-faults.ts";
import { type StoreSuite, TestClock, describeStores } from "../../support/stores.ts";
import { type Told, toldBy } from "../../support/world.ts";

/** Longer than send, flight and margin of an attempt together. */
const quietMs = 20_000;

async function refundTool({ url }: Counterpart, timeoutMs: number) {
  const { hostname: host, port } = new URL(url);
  const stripe = new Stripe("sk_test_1", { host, port, protocol: "http", telemetry: false });
  return defineTool({
    name: "issue_refund",
    kind: "non-idempotent",
    arguments: z.object({ order: z.string(), amountMinor: z.int(), reason: z.string() }),
    intent: ({ args, trusted }) =>
      `refund:order-${args.order}:ticket-${trusted["ticket"] as string}`,
    businessArguments: ["order", "amountMinor"],
    ...(await stripeRefund(stripe, {
      request: ({ order, amountMinor }: { order: string; amountMinor: number }) => ({
        payment_intent: `pi_${order}`,
        amount: amountMinor,
      }),
      timeoutMs,
      flightMs: 10_000,
      marginMs: 1000,
    })),
  });
}

interface Stage {
  readonly counterpart: Counterpart;
  /** One call of a worker: the agent words its reason anew each time. */
  readonly ask: (worker: number, ticket?: string) => Promise<Told>;
  readonly advance: () => void;
}

async function stage(
  suite: StoreSuite,
  guardOf: (options: GuardOptions) => Promise<Guard>,
  fault: Fault = { pass: true },
): Promise<Stage> {
  const clock = new TestClock();
  const opened = await suite.open({ clock });
  const counterpart = await startStripe();
  onTestFinished(() => counterpart.close());
  // Without a guard it is the SDK that gives up; a guard does when the provider has fallen silent.
  const isBare = guardOf === passThroughGuard;
  const timeoutMs = isBare && "hang" in fault ? 500 : 20_000;
  const ringing = "hang" in fault ? ringingRuntime(timeoutMs) : undefined;
  if (ringing !== undefined) void counterpart.silent().then(() => ringing.ring());
  const stores = [opened.store, await opened.again({ clock })];
  const guards = stores.map((store) => guardOf({ store, ...(ringing && { runtime: ringing }) }));
  const tool = await refundTool(counterpart, timeoutMs);
  let words = 0;
  return {
    counterpart,
    ask: async (worker, ticket = "5521") => {
      const guard = await (guards[worker] ?? Promise.reject(new Error("there is no such worker")));
      words += 1;
      const args = { order: "8812", amountMinor: 48_000, reason: `worded for the ${words}. time` };
      return toldBy(guard.run(tool, args, { tenant: "acme", trusted: { ticket } }));
    },
    advance: () => {
      clock.advance(quietMs);
      counterpart.advance(quietMs);
    },
  };
}

/** What the first request meets, and what its caller is told. */
const lost: readonly (readonly [fault: Fault, told: Told["told"]])[] = [
  [{ pass: true }, "EXECUTED"],
  [{ hang: "after" }, "OUTCOME_UNKNOWN"],
  [{ hang: "before" }, "OUTCOME_UNKNOWN"],
  [{ reset: "after" }, "OUTCOME_UNKNOWN"],
  [{ reset: "before" }, "OUTCOME_UNKNOWN"],
  [{ truncate: true }, "OUTCOME_UNKNOWN"],
  [{ gateway: 504, effect: true }, "OUTCOME_UNKNOWN"],
  [{ gateway: 404, effect: true }, "OUTCOME_UNKNOWN"],
  [{ gateway: 502, effect: false }, "OUTCOME_UNKNOWN"],
  [{ refuse: 429 }, "NOT_SENT"],
];

async function play(at: Stage, fault: Fault, told: Told["told"]): Promise<void> {
  const { counterpart, ask, advance } = at;
  counterpart.fault(fault);
  expect((await ask(0)).told, "the first call").toBe(told);
  await ask(0); // The orchestrator retries at once.
  advance();
  const [redeployed, reread] = [await ask(1), await ask(1)];
  expect(["EXECUTED", "REPLAYED"]).toContain(redeployed.told);
  expect(reread.told).toBe("REPLAYED");
  expect(reread.outcome?.value).toEqual(redeployed.outcome?.value);
  const amounts = counterpart.effects.map(({ resource }) => resource["amount"]);
  expect(amounts, "refunds in Stripe's ledger").toEqual([48_000]);
  // What the customer wants under another ticket is another refund.
  expect((await ask(1, "6001")).told).toBe("EXECUTED");
  expect(counterpart.effects).toHaveLength(2);
}

describeStores("the refund story on Stripe", (suite) => {
  it.each(lost)("ends in one refund where the first request meets %j", async (fault, told) => {
    await play(await stage(suite, createGuard, fault), fault, told);
  });

  it("ends in one refund where two workers are at it at once", async () => {
    const { counterpart, ask } = await stage(suite, createGuard);
    counterpart.fault({ hold: true });
    const first = ask(0);
    await counterpart.held();
    expect((await ask(1)).told).toBe("IN_PROGRESS");
    counterpart.release();
    expect((await first).told).toBe("EXECUTED");
    expect((await ask(1)).told).toBe("REPLAYED");
    expect([counterpart.sends.length, counterpart.effects.length]).toEqual([1, 1]);
  });

  it("asks a person where Stripe keeps its own 500, and sends no second request", async () => {
    const { counterpart, ask, advance } = await stage(suite, createGuard);
    counterpart.fault({ refuse: 500 });
    expect((await ask(0)).told).toBe("OUTCOME_UNKNOWN");
    for (let calls = 1; calls <= 6; calls += 1) {
      advance();
      await ask(1);
    }
    expect((await ask(1)).told).toBe("NEEDS_REVIEW");
    expect(counterpart.effects).toHaveLength(0);
    expect(new Set(counterpart.sends.map(({ key, body }) => `${key}\n${body}`)).size).toBe(1);
  });

  it.each(lost)("breaks under a pass-through guard (%j)", async (fault, told) => {
    const bare = await stage(suite, passThroughGuard, fault);
    await expect(play(bare, fault, told)).rejects.toThrow();
    expect(bare.counterpart.effects.length + bare.counterpart.sends.length).toBeGreaterThan(0);
  });
});
