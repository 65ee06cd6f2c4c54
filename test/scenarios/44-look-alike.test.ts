/**
 * Look-alikes: equal arguments under another intent may be meant (R5), so they are never merged; the
 * caller is warned, or a person is asked (R26).
 */
import { expect } from "vitest";
import { hours, minutes } from "../../src/index.ts";
import type { Tool } from "../../src/index.ts";
import { dropCalls, stopAt } from "../support/store-faults.ts";
import { type Told, refundArgs, scenario, type World } from "../support/world.ts";

function refundOf(ticketId: string): { args: typeof refundArgs } {
  return { args: { ...refundArgs, ticketId } };
}

function holding(world: World, more: object = {}): Tool {
  return world.tool({ lookAlike: { rule: "hold", windowMs: hours(1) }, ...more });
}

function decide(world: World, told: Told, decision: "run-again" | "did-not-happen" | "look-again") {
  const key = (told.error as { key: string }).key;
  return world
    .row(key)
    .then(({ tenant, version }) =>
      world.guard.resolve({ tenant, key, version, decision, by: "ann", why: "two parcels broke" }),
    );
}

scenario("a look-alike that is warned of runs, and its caller hears of it", {}, async (world) => {
  const tool = world.tool({ lookAlike: { rule: "warn", windowMs: hours(1) } });
  const warnings: string[] = [];
  const guard = await world.another({ onWarning: ({ message }) => void warnings.push(message) });
  const first = await world.run({ tool, guard, ...refundOf("1") });
  const second = await world.run({ tool, guard, ...refundOf("2") });

  expect([first.told, second.told]).toEqual(["EXECUTED", "EXECUTED"]);
  expect(first.outcome?.warnings).toEqual([]);
  expect(second.outcome?.warnings).toHaveLength(1);
  expect(second.outcome?.warnings[0]).toContain("refund:order-8812:ticket-1");
  expect(second.outcome?.warnings[0]).toContain(first.outcome?.key);
  expect(warnings).toEqual(second.outcome?.warnings);
  expect((await world.run({ tool, ...refundOf("2") })).outcome?.warnings).toEqual([]);
  world.assertEffects(2);
});

scenario("a look-alike that is held sends nothing, and a person lets it run", {}, async (world) => {
  const tool = holding(world);
  const first = await world.run({ tool, ...refundOf("1") });
  const second = await world.run({ tool, ...refundOf("2") });
  const again = await world.run({ tool, ...refundOf("2") });
  world.assertEffects(1);
  await decide(world, second, "run-again");
  const third = await world.run({ tool, ...refundOf("2") });
  const fourth = await world.run({ tool, ...refundOf("2") });

  expect([first, second, again, third, fourth].map((one) => one.told)).toEqual([
    "EXECUTED",
    "NEEDS_REVIEW",
    "NEEDS_REVIEW",
    "EXECUTED",
    "REPLAYED",
  ]);
  expect(world.provider.arrivals()).toHaveLength(2);
  world.assertEffects(2);
});

scenario("a look-alike that a person refuses never runs", {}, async (world) => {
  const tool = holding(world);
  await world.run({ tool, ...refundOf("1") });
  const held = await world.run({ tool, ...refundOf("2") });
  await decide(world, held, "did-not-happen");
  const after = await world.run({ tool, ...refundOf("2") });
  expect([held.told, after.told]).toEqual(["NEEDS_REVIEW", "OPERATION_FAILED"]);
  world.assertEffects(1);
});

scenario(
  "a look-alike of which a person says to look again is held again, by caller and by sweeper",
  {},
  async (world) => {
    const tool = holding(world);
    await world.run({ tool, ...refundOf("1") });
    const held = await world.run({ tool, ...refundOf("2") });
    await decide(world, held, "look-again");
    const sweeper = await world.another({ tools: [tool] });
    await sweeper.sweep();
    world.assertEffects(1);
    expect((await world.run({ tool, ...refundOf("2") })).told).toBe("NEEDS_REVIEW");
    world.assertEffects(1);
  },
);

scenario("two look-alikes at once don't both run unseen", {}, async (world) => {
  const tool = holding(world);
  const stops = [stopAt("after-claim"), stopAt("after-claim")];
  const running = stops.map(async (stop, index) => {
    const guard = await world.another({ onPoint: stop.onPoint });
    return world.run({ tool, guard, ...refundOf(`${index}`) });
  });
  for (const [index, stop] of stops.entries()) {
    await stop.reached(running[index] as Promise<Told>);
  }
  for (const stop of stops) stop.release();
  const told = (await Promise.all(running)).map((one) => one.told);

  expect(told.filter((one) => one === "EXECUTED").length).toBeLessThanOrEqual(1);
  expect(told).toContain("NEEDS_REVIEW");
  expect(world.provider.ledger().length).toBeLessThanOrEqual(1);
});

scenario(
  "a crash between the claim and the check lets no look-alike through",
  {},
  async (world) => {
    const tool = holding(world);
    await world.run({ tool, ...refundOf("1") });
    const crash = stopAt("after-claim");
    const guard = await world.another({ onPoint: crash.onPoint });
    const dead = world.run({ tool, guard, ...refundOf("2") });
    await crash.reached(dead);
    world.advance(minutes(10));
    expect((await world.run({ tool, ...refundOf("2") })).told).toBe("NEEDS_REVIEW");
    world.assertEffects(1);
  },
);

scenario("a check that the store doesn't answer lets no look-alike through", {}, async (world) => {
  const tool = holding(world);
  await world.run({ tool, ...refundOf("1") });
  const plain = await world.opened.again({ clock: world.clock });
  const store = dropCalls(plain, { methods: ["findLookAlikes"], when: "before" });
  const first = await world.run({ tool, guard: await world.another({ store }), ...refundOf("2") });
  world.advance(minutes(10));
  const second = await world.run({ tool, ...refundOf("2") });

  expect([first.told, second.told]).toEqual(["STORE_UNAVAILABLE", "NEEDS_REVIEW"]);
  world.assertEffects(1);
});

scenario(
  "a worker that was taken over before it could hold its look-alike answers with the row",
  {},
  async (world) => {
    const tool = holding(world);
    await world.run({ tool, ...refundOf("1") });
    const stop = stopAt("after-claim");
    const slow = world.run({
      tool,
      guard: await world.another({ onPoint: stop.onPoint }),
      ...refundOf("2"),
    });
    await stop.reached(slow);
    world.advance(minutes(10));
    const other = await world.run({ tool, ...refundOf("2") });
    stop.release();
    expect([(await slow).told, other.told]).toEqual(["NEEDS_REVIEW", "NEEDS_REVIEW"]);
    world.assertEffects(1);
  },
);

scenario("what is older than the window looks like nothing", {}, async (world) => {
  const tool = holding(world);
  await world.run({ tool, ...refundOf("1") });
  world.advance(hours(1) + 1);
  expect((await world.run({ tool, ...refundOf("2") })).told).toBe("EXECUTED");
  world.advance(hours(1));
  expect((await world.run({ tool, ...refundOf("3") })).told).toBe("NEEDS_REVIEW");
  world.assertEffects(2);
});

scenario("what was refused for good looks like nothing", {}, async (world) => {
  const tool = holding(world);
  world.provider.fault({ decline: true });
  await world.run({ tool, ...refundOf("1") });
  expect((await world.run({ tool, ...refundOf("2") })).told).toBe("EXECUTED");
  expect((await world.run({ tool, ...refundOf("2") })).told).toBe("REPLAYED");
  world.assertEffects(1);
});

scenario(
  "an intent that is replaced doesn't look like its replacement, and all others do",
  {},
  async (world) => {
    const tool = holding(world);
    const old = await world.run({ tool, ...refundOf("1") });
    const supersedes = { key: old.outcome?.key ?? "", reason: "sent to the wrong account" };
    const replaced = await world.run({ tool, ...refundOf("1"), context: { supersedes } });
    const other = await world.run({ tool, ...refundOf("2") });

    expect([replaced.told, other.told]).toEqual(["EXECUTED", "NEEDS_REVIEW"]);
    world.assertEffects(2);
  },
);

scenario(
  "declared fields alone make a look-alike, and a tenant or an operation of its own makes none",
  {},
  async (world) => {
    const rule = { rule: "hold", windowMs: hours(1), fields: ["orderId"] };
    const tool = world.tool({ lookAlike: rule });
    const otherOperation = world.tool({ name: "partial", operation: "partial", lookAlike: rule });
    await world.run({ tool, ...refundOf("1") });
    const sameOrder = { args: { ...refundArgs, ticketId: "2", amountMinor: 1 } };
    const otherOrder = { args: { ...refundArgs, ticketId: "2", orderId: "9" } };
    const told = [
      await world.run({ tool, ...sameOrder }),
      await world.run({ tool, ...otherOrder }),
      await world.run({ tool, ...sameOrder, context: { tenant: "umbrella" } }),
      await world.run({ tool: otherOperation, ...refundOf("1") }),
    ];
    expect(told.map((one) => one.told)).toEqual([
      "NEEDS_REVIEW",
      "EXECUTED",
      "EXECUTED",
      "EXECUTED",
    ]);
    world.assertEffects(4);
  },
);

scenario(
  "a field that looks alike but is left out of a call is simply not there",
  {},
  async (world) => {
    const tool = world.tool({
      businessArguments: ["orderId", "reason"],
      lookAlike: { rule: "hold", windowMs: hours(1), fields: ["orderId", "reason"] },
    });
    const { reason: _, ...without } = refundArgs;
    const first = await world.run({ tool, args: { ...without, ticketId: "1" } });
    const second = await world.run({ tool, ...refundOf("2") });
    const third = await world.run({ tool, args: { ...without, ticketId: "3" } });
    expect([first.told, second.told, third.told]).toEqual(["EXECUTED", "EXECUTED", "NEEDS_REVIEW"]);
    world.assertEffects(2);
  },
);
