/**
 * The third kind of "twice": the model decides again, and says it in other words. The key comes from
 * the intent, and the fingerprint covers declared business arguments only.
 */
import { expect } from "vitest";
import { z } from "zod";
import { refundArgs, scenario } from "../support/world.ts";

const bodyOnTheWire = '{"amountMinor":48000,"currency":"EUR","orderId":"8812"}';

scenario(
  "free text that the model words anew is neither a new effect nor sent at all",
  {},
  async (world) => {
    const told = [];
    for (const reason of ["Parcel arrived broken", "The item was damaged on arrival", undefined]) {
      const guard = await world.another();
      told.push((await world.run({ guard, args: { ...refundArgs, reason } })).told);
    }
    expect(told).toEqual(["EXECUTED", "REPLAYED", "REPLAYED"]);
    expect(world.provider.arrivals().map(({ bodyText }) => bodyText)).toEqual([bodyOnTheWire]);
    world.assertEffects(1);
  },
);

scenario("members in another order, also deep inside, are the same call", {}, async (world) => {
  const tool = world.tool({
    arguments: z.object({ orderId: z.string(), lines: z.array(z.record(z.string(), z.any())) }),
    businessArguments: ["orderId", "lines"],
  });
  const first = { orderId: "8812", lines: [{ sku: "a", parts: { x: 1, y: 2 } }, { sku: "b" }] };
  const second = { lines: [{ parts: { y: 2, x: 1 }, sku: "a" }, { sku: "b" }], orderId: "8812" };
  const third = { orderId: "8812", lines: [{ sku: "b" }, { parts: { y: 2, x: 1 }, sku: "a" }] };
  const told = [];
  for (const args of [first, second, third]) told.push((await world.run({ tool, args })).told);

  // The order of an array means something.
  expect(told).toEqual(["EXECUTED", "REPLAYED", "PAYLOAD_MISMATCH"]);
  world.assertEffects(1);
});

scenario(
  "an id that the schema brings to its one spelling is the same intent",
  {},
  async (world) => {
    const tool = world.tool({
      arguments: z.object({
        orderId: z.string().transform((id) => id.replace(/^#/, "")),
        amountMinor: z.int(),
        currency: z.string().transform((currency) => currency.toUpperCase()),
      }),
      intent: ({ args }: { args: { orderId: string } }) => `refund:order-${args.orderId}`,
    });
    const told = [];
    for (const [orderId, currency] of [
      ["8812", "EUR"],
      ["#8812", "eur"],
    ]) {
      const args = { orderId, amountMinor: 48_000, currency };
      told.push((await world.run({ tool, args })).told);
    }
    expect(told).toEqual(["EXECUTED", "REPLAYED"]);
    world.assertEffects(1);
  },
);

const normalisers = {
  orderId: (id: string) => id.replace(/^#/, ""),
  amountMinor: true,
  currency: (currency: string) => currency.toUpperCase(),
};

scenario(
  "an id that a declared normaliser brings to its one spelling is the same call",
  {},
  async (world) => {
    const tool = world.tool({
      businessArguments: normalisers,
      intent: ({ trusted }: { trusted: { orderId: string } }) => `refund:order-${trusted.orderId}`,
    });
    const context = { trusted: { orderId: "8812" } };
    const first = await world.run({ tool, context });
    const args = { ...refundArgs, orderId: "#8812", currency: "eur" };
    const second = await world.run({ tool, context, args });

    expect([first.told, second.told]).toEqual(["EXECUTED", "REPLAYED"]);
    expect(world.provider.arrivals().map(({ bodyText }) => bodyText)).toEqual([bodyOnTheWire]);
    world.assertEffects(1);
  },
);

scenario(
  "an intent that is made of business arguments is made of their one spelling",
  {},
  async (world) => {
    const tool = world.tool({ businessArguments: normalisers });
    const first = await world.run({ tool });
    const second = await world.run({ tool, args: { ...refundArgs, orderId: "#8812" } });

    expect(first.told).toBe("EXECUTED");
    expect(["REPLAYED", "PAYLOAD_MISMATCH"]).toContain(second.told);
    world.assertEffects(1);
  },
);

scenario(
  "what the model changes in earnest is a mismatch and no second effect",
  {},
  async (world) => {
    const first = await world.run();
    const dearer = await world.run({ args: { ...refundArgs, amountMinor: 96_000 } });
    const asText = await world.run({ args: { ...refundArgs, currency: "USD" } });
    const same = await world.run();

    expect([first.told, dearer.told, asText.told, same.told]).toEqual([
      "EXECUTED",
      "PAYLOAD_MISMATCH",
      "PAYLOAD_MISMATCH",
      "REPLAYED",
    ]);
    world.assertEffects(1);
  },
);
