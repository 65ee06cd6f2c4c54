/**
 * Which arguments are the same call: members in any order, numbers by value, defaults filled in. What
 * JSON can't carry never gets as far as a claim (cases 1, 3, 4, 5 and 7).
 */
import { expect } from "vitest";
import { z } from "zod";
import { isNeverTwiceError } from "../../src/index.ts";
import { type Told, type World, refundArgs, scenario } from "../support/world.ts";

/** A tool whose intent is fixed, so that the arguments alone decide what a call is. */
function paymentTool(world: World, fields: z.ZodRawShape): ReturnType<World["tool"]> {
  return world.tool({
    name: "pay",
    arguments: z.object(fields),
    intent: () => "pay:invoice-77",
    businessArguments: Object.keys(fields),
  });
}

async function runEach(
  world: World,
  tool: ReturnType<World["tool"]>,
  calls: readonly unknown[],
): Promise<Told["told"][]> {
  const told: Told["told"][] = [];
  for (const args of calls) told.push((await world.run({ tool, args })).told);
  return told;
}

const anything = z.json();

scenario(
  "members in another order are the same call at every depth, a list in another order is not",
  {},
  async (world) => {
    const tool = paymentTool(world, { a: anything, b: anything });
    const told = await runEach(world, tool, [
      { b: 1, a: { d: [{ y: 1, x: 2 }, 3], c: 3 } },
      { a: { c: 3, d: [{ x: 2, y: 1 }, 3] }, b: 1 },
      { a: { c: 3, d: [3, { x: 2, y: 1 }] }, b: 1 },
      { b: 1, a: { d: [{ y: 1, x: 2 }, 3], c: 3 } },
    ]);

    expect(told).toEqual(["EXECUTED", "REPLAYED", "PAYLOAD_MISMATCH", "REPLAYED"]);
    expect(world.provider.arrivals().map(({ bodyText }) => bodyText)).toEqual([
      '{"a":{"c":3,"d":[{"x":2,"y":1},3]},"b":1}',
    ]);
    world.assertEffects(1);
  },
);

scenario("how key and fingerprint were made is stored with them", {}, async (world) => {
  await world.run();
  const { keyAlgorithm, fingerprint } = await world.row();

  expect(keyAlgorithm).toBe("jcs-sha256/1");
  expect(fingerprint).toMatch(/^jcs-sha256\/1:[0-9a-f]{64}$/);
  world.assertEffects(1);
});

function unsupportedValues(): readonly unknown[] {
  const cyclic: Record<string, unknown> = {};
  cyclic["self"] = { again: cyclic };
  return [
    new Set([1]),
    new Map([["x", 1]]),
    new Date(0),
    new Date(Number.NaN),
    10n,
    Symbol("x"),
    () => 1,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    2 ** 53,
    new (class Money {
      amount = 1;
    })(),
    new Uint8Array(2),
    [1, undefined],
    "\ud800",
    "a\0b",
    cyclic,
  ];
}

/** Where in `{items: [{value}]}` each of them is refused. */
function refusedPaths(told: readonly Told[]): unknown[] {
  return told.map(({ error }) => isNeverTwiceError(error) && error.details["path"]);
}

scenario(
  "what JSON can't carry is refused with its path before anything is recorded or sent",
  {},
  async (world) => {
    const tool = paymentTool(world, { items: anything });
    const told: Told[] = [];
    for (const value of unsupportedValues()) {
      told.push(await world.run({ tool, args: { items: [{ value }] } }));
    }

    expect(new Set(told.map((one) => one.told))).toEqual(new Set(["UNSUPPORTED_ARGUMENT"]));
    expect(new Set(refusedPaths(told))).toEqual(
      new Set(["$.items[0].value", "$.items[0].value[1]", "$.items[0].value.self.again"]),
    );
    expect(await world.rows()).toEqual([]);
    expect(world.provider.arrivals()).toEqual([]);
    world.assertEffects(0);
  },
);

scenario(
  "a date is refused in a field that is not declared, too: nobody knows what the schema does with it",
  {},
  async (world) => {
    const told = await world.run({ args: { ...refundArgs, reason: new Date(0) } });

    expect(told.told).toBe("UNSUPPORTED_ARGUMENT");
    expect(refusedPaths([told])).toEqual(["$.reason"]);
    expect(await world.rows()).toEqual([]);
    world.assertEffects(0);
  },
);

scenario(
  "a schema that makes a date out of text can't hand it on as a business argument",
  {},
  async (world) => {
    const tool = paymentTool(world, { amount: z.int(), due: z.coerce.date() });
    const told = await world.run({ tool, args: { amount: 480, due: "2026-01-01" } });

    expect(told.told).toBe("UNSUPPORTED_ARGUMENT");
    expect(refusedPaths([told])).toEqual(["$.due"]);
    expect(await world.rows()).toEqual([]);
    world.assertEffects(0);
  },
);

scenario("an undefined member is an absent one, and null is neither", {}, async (world) => {
  const tool = paymentTool(world, { amount: z.int(), memo: z.string().nullish() });
  const told = await runEach(world, tool, [
    { amount: 480 },
    { amount: 480, memo: undefined },
    { amount: 480, memo: null },
    { amount: 480, memo: "" },
    { amount: 480 },
  ]);

  expect(told).toEqual([
    "EXECUTED",
    "REPLAYED",
    "PAYLOAD_MISMATCH",
    "PAYLOAD_MISMATCH",
    "REPLAYED",
  ]);
  world.assertEffects(1);
});

scenario("defaults are filled in before the fingerprint is taken", {}, async (world) => {
  const tool = paymentTool(world, {
    amount: z.int(),
    memo: z.string().nullable().default(null),
    currency: z.string().default("EUR"),
  });
  const told = await runEach(world, tool, [
    { amount: 480 },
    { amount: 480, memo: null },
    { amount: 480, memo: undefined, currency: "EUR" },
    { amount: 480, memo: "x" },
    { amount: 480, currency: "USD" },
  ]);

  expect(told).toEqual([
    "EXECUTED",
    "REPLAYED",
    "REPLAYED",
    "PAYLOAD_MISMATCH",
    "PAYLOAD_MISMATCH",
  ]);
  expect(world.provider.ledger().map(({ body }) => body)).toEqual([
    { amount: 480, currency: "EUR", memo: null },
  ]);
  world.assertEffects(1);
});

scenario(
  "a number is itself in every spelling, and its text is another value",
  {},
  async (world) => {
    const tool = paymentTool(world, { amount: z.union([z.number(), z.string()]) });
    const bodies = ['{"amount":480}', '{"amount":480.0}', '{"amount":4.8e2}', '{"amount":"480"}'];
    const told = await runEach(
      world,
      tool,
      bodies.map((body) => JSON.parse(body) as unknown),
    );

    expect(told).toEqual(["EXECUTED", "REPLAYED", "REPLAYED", "PAYLOAD_MISMATCH"]);
    world.assertEffects(1);
  },
);

scenario("minus zero is zero, and 0.1 + 0.2 is not 0.3", {}, async (world) => {
  const tool = paymentTool(world, { amount: z.number(), fee: z.number() });
  const told = await runEach(world, tool, [
    { amount: 0.3, fee: -0 },
    { amount: 0.3, fee: 0 },
    { amount: 0.1 + 0.2, fee: 0 },
  ]);

  expect(told).toEqual(["EXECUTED", "REPLAYED", "PAYLOAD_MISMATCH"]);
  expect(world.provider.arrivals().map(({ bodyText }) => bodyText)).toEqual([
    '{"amount":0.3,"fee":0}',
  ]);
  world.assertEffects(1);
});

scenario(
  "an argument is sent as it was written: composed and decomposed text are two values",
  {},
  async (world) => {
    const tool = paymentTool(world, { shop: z.string() });
    const told = await runEach(world, tool, [
      { shop: "cafe\u0301" },
      { shop: "caf\u00e9" },
      { shop: "cafe\u0301" },
    ]);

    expect(told).toEqual(["EXECUTED", "PAYLOAD_MISMATCH", "REPLAYED"]);
    expect(world.provider.ledger().map(({ body }) => body)).toEqual([{ shop: "cafe\u0301" }]);
    world.assertEffects(1);
  },
);
