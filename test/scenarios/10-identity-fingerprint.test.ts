/**
 * What the fingerprint covers: the declared business arguments, each in its one spelling, and account and
 * endpoint where they matter. Nothing else, and nothing less (cases 9, 10, 15, 16 and 21).
 */
import { expect } from "vitest";
import { z } from "zod";
import { type Told, type World, refundArgs, scenario } from "../support/world.ts";

type Tool = ReturnType<World["tool"]>;

async function runEach(
  world: World,
  tool: Tool,
  calls: readonly unknown[],
): Promise<Told["told"][]> {
  const told: Told["told"][] = [];
  for (const args of calls) told.push((await world.run({ tool, args })).told);
  return told;
}

scenario("what an SDK adds to every request anew is neither hashed nor sent", {}, async (world) => {
  const tool = world.tool({
    arguments: z.looseObject({
      orderId: z.string(),
      amountMinor: z.int(),
      currency: z.string(),
      sdk: z.object({ createdAt: z.number(), nonce: z.string() }),
      attachments: z.array(z.string()),
    }),
  });
  const call = (createdAt: number, attachments: string[]): unknown => ({
    ...refundArgs,
    sdk: { createdAt, nonce: `n-${createdAt}` },
    attachments,
    [`header-${createdAt}`]: createdAt,
  });
  const told = await runEach(world, tool, [call(1, ["a", "b"]), call(2, ["b", "a"]), call(3, [])]);

  expect(told).toEqual(["EXECUTED", "REPLAYED", "REPLAYED"]);
  expect(world.provider.ledger().map(({ body }) => body)).toEqual([
    { amountMinor: 48_000, currency: "EUR", orderId: "8812" },
  ]);
  world.assertEffects(1);
});

scenario(
  "text that the model words anew after a restart finds the first effect; the provider never sees it",
  {},
  async (world) => {
    world.provider.fault({ dropReplyAfterCommit: true });
    const told: Told["told"][] = [];
    for (const reason of ["Parcel arrived broken", "The item was damaged on arrival", "Broken!"]) {
      const guard = await world.another();
      told.push((await world.run({ guard, args: { ...refundArgs, reason } })).told);
    }

    expect(told).toEqual(["OUTCOME_UNKNOWN", "REPLAYED", "REPLAYED"]);
    const sent = JSON.stringify(world.provider.arrivals());
    expect(sent).not.toMatch(/reason|arrive|damaged|Broken/);
    expect((await world.row()).arguments).not.toContain("reason");
    world.assertEffects(1);
  },
);

scenario(
  "a business argument that the model words anew is a mismatch at worst, never a second effect",
  {},
  async (world) => {
    const tool = world.tool({ intent: () => "refund:order-8812:ticket-5521" });
    world.provider.fault({ dropReplyAfterCommit: true });
    const told = await runEach(world, tool, [
      refundArgs,
      { ...refundArgs, orderId: "#8812" },
      { ...refundArgs, amountMinor: 48_001 },
      refundArgs,
    ]);

    expect(told).toEqual(["OUTCOME_UNKNOWN", "PAYLOAD_MISMATCH", "PAYLOAD_MISMATCH", "REPLAYED"]);
    world.assertEffects(1);
  },
);

scenario(
  "a changed business argument is a mismatch every time, and the text names the field",
  {},
  async (world) => {
    await world.run();
    const changed = { ...refundArgs, amountMinor: 1, reason: "x" };
    const guards = [world.guard, world.guard, await world.another()];
    const told = [];
    for (const guard of guards) told.push(await world.run({ guard, args: changed }));
    const unchanged = await world.run({ args: { ...refundArgs, reason: "y" } });

    expect(told.map((one) => one.told)).toEqual(guards.map(() => "PAYLOAD_MISMATCH"));
    for (const { error } of told) {
      expect(error).toMatchObject({ details: { fields: ["amountMinor"] } });
      expect(String(error)).toContain("they differ in amountMinor");
      // What the first caller asked for is not told to one who asks for something else.
      expect(String(error)).not.toContain("48000");
    }
    expect(unchanged.told).toBe("REPLAYED");
    world.assertEffects(1);
  },
);

scenario("two tools on one store use their own business arguments each", {}, async (world) => {
  const byAmount = world.tool({
    name: "by_amount",
    operation: "by_amount",
    businessArguments: ["amountMinor"],
  });
  const byCurrency = world.tool({
    name: "by_currency",
    operation: "by_currency",
    businessArguments: ["currency"],
  });
  const calls = [refundArgs, { ...refundArgs, currency: "USD" }, { ...refundArgs, amountMinor: 1 }];

  expect(await runEach(world, byAmount, calls)).toEqual([
    "EXECUTED",
    "REPLAYED",
    "PAYLOAD_MISMATCH",
  ]);
  expect(await runEach(world, byCurrency, calls)).toEqual([
    "EXECUTED",
    "PAYLOAD_MISMATCH",
    "REPLAYED",
  ]);
  const bodies = world.provider.ledger().map(({ body }) => body);
  expect(bodies).toEqual([{ amountMinor: 48_000 }, { currency: "EUR" }]);
  world.assertEffects(2);
});

scenario(
  "a normaliser that breaks stops the call before anything is recorded or sent",
  {},
  async (world) => {
    const broken = (): never => {
      throw new RangeError("no such currency");
    };
    const tool = world.tool({
      businessArguments: { orderId: true, amountMinor: true, currency: broken },
    });
    const told = await world.run({ tool });

    expect(told.outcome).toBeUndefined();
    expect(String(told.error)).toContain("no such currency");
    expect(await world.rows()).toEqual([]);
    expect(world.provider.arrivals()).toEqual([]);
    world.assertEffects(0);
  },
);

const spellings = [
  { orderId: "ORDER-1", amountMinor: 48_000, currency: "EUR", wallet: "0xABC" },
  { orderId: "order-1", amountMinor: 48_000, currency: "eur", wallet: "0xabc" },
  { orderId: " Order-1", amountMinor: 48_000, currency: "Eur", wallet: "0xAbC" },
];
const spelledArguments = z.object({
  orderId: z.string(),
  amountMinor: z.int(),
  currency: z.string(),
  wallet: z.string(),
});

scenario(
  "spellings of one id are the same call where a normaliser is declared, and sent in one spelling",
  {},
  async (world) => {
    const tool = world.tool({
      arguments: spelledArguments,
      intent: () => "refund:order-1",
      businessArguments: {
        orderId: (id: string) => id.trim().toLowerCase(),
        amountMinor: true,
        currency: (code: string) => code.toUpperCase(),
        wallet: (address: string) => address.toLowerCase(),
      },
    });

    expect(await runEach(world, tool, spellings.toReversed())).toEqual([
      "EXECUTED",
      "REPLAYED",
      "REPLAYED",
    ]);
    expect(world.provider.ledger().map(({ body }) => body)).toEqual([
      { orderId: "order-1", amountMinor: 48_000, currency: "EUR", wallet: "0xabc" },
    ]);
    world.assertEffects(1);
  },
);

scenario(
  "spellings of one id are a mismatch where no normaliser is declared",
  {},
  async (world) => {
    const tool = world.tool({
      arguments: spelledArguments,
      intent: () => "refund:order-1",
      businessArguments: ["orderId", "amountMinor", "currency", "wallet"],
    });

    expect(await runEach(world, tool, spellings)).toEqual([
      "EXECUTED",
      "PAYLOAD_MISMATCH",
      "PAYLOAD_MISMATCH",
    ]);
    world.assertEffects(1);
  },
);

scenario(
  "an intent that is made of a normalised argument is the same intent in every spelling",
  {},
  async (world) => {
    const tool = world.tool({
      businessArguments: {
        orderId: (id: string) => id.replace(/^#/, ""),
        amountMinor: true,
        currency: true,
      },
    });
    const told = await runEach(world, tool, [refundArgs, { ...refundArgs, orderId: "#8812" }]);

    expect(told).toEqual(["EXECUTED", "REPLAYED"]);
    world.assertEffects(1);
  },
);

scenario(
  "one intent at another account or endpoint is a mismatch, not somebody else's result",
  {},
  async (world) => {
    const told = [await world.run({ tool: world.tool({ contract: { account: "acct_1" } }) })];
    for (const contract of [
      { account: "acct_2" },
      {},
      { account: "acct_1", endpoint: "/v2/refunds" },
      { account: "acct_1" },
    ]) {
      const guard = await world.another();
      told.push(await world.run({ guard, tool: world.tool({ contract }) }));
    }

    expect(told.map((one) => one.told)).toEqual([
      "EXECUTED",
      "PAYLOAD_MISMATCH",
      "PAYLOAD_MISMATCH",
      "PAYLOAD_MISMATCH",
      "REPLAYED",
    ]);
    expect(String(told[1]?.error)).toContain("they differ in the tool, account or endpoint");
    world.assertEffects(1);
  },
);

scenario(
  "one intent of two operations is two effects: cancelling is not refunding",
  {},
  async (world) => {
    const tools = ["refund", "cancel"].map((operation) =>
      world.tool({ name: operation, operation, intent: () => "order-8812:ticket-5521" }),
    );
    const told: Told["told"][] = [];
    for (const tool of [...tools, ...tools]) told.push((await world.run({ tool })).told);

    expect(told).toEqual(["EXECUTED", "EXECUTED", "REPLAYED", "REPLAYED"]);
    expect(new Set((await world.rows()).map(({ key }) => key)).size).toBe(2);
    world.assertEffects(2);
  },
);

scenario(
  "one intent on two orders is a mismatch: the second order is never reported as cancelled",
  {},
  async (world) => {
    const tool = world.tool({ intent: () => "cancel:ticket-5521" });
    const told = await runEach(world, tool, [
      { ...refundArgs, orderId: "1" },
      { ...refundArgs, orderId: "2" },
    ]);

    expect(told).toEqual(["EXECUTED", "PAYLOAD_MISMATCH"]);
    expect(world.provider.ledger().map(({ body }) => body["orderId"])).toEqual(["1"]);
    world.assertEffects(1);
  },
);
