/**
 * Calls that a person has to approve: nothing is sent before, an approval lets exactly that operation
 * run once, and a refusal settles it (R30).
 */
import { expect } from "vitest";
import type { Tool } from "../../src/index.ts";
import { type RefundArgs, type Told, type World, refundArgs, scenario } from "../support/world.ts";

function holding(world: World, hold?: (args: RefundArgs) => unknown): Tool {
  return world.tool({
    hold:
      hold ??
      (({ amountMinor }: RefundArgs) =>
        amountMinor > 20_000 ? `${amountMinor} is above 20000` : undefined),
  });
}

async function decide(world: World, told: Told, decision: "run-again" | "did-not-happen") {
  const { tenant, key, version } = await world.row((told.error as { key: string }).key);
  return world.guard.resolve({ tenant, key, version, decision, by: "ann", why: "checked" });
}

const small = { args: { ...refundArgs, amountMinor: 500, ticketId: "small" } };

scenario("a call that is held sends nothing until a person lets it run", {}, async (world) => {
  const tool = holding(world);
  const held = await world.run({ tool });
  const again = await world.run({ tool });
  const other = await world.run({ tool, ...small });
  world.assertEffects(1);
  await decide(world, held, "run-again");
  const after = [await world.run({ tool }), await world.run({ tool })];

  expect([held, again, other, ...after].map(({ told }) => told)).toEqual([
    "NEEDS_REVIEW",
    "NEEDS_REVIEW",
    "EXECUTED",
    "EXECUTED",
    "REPLAYED",
  ]);
  expect((held.error as Error).message).toContain("Nothing was sent for this intent");
  expect((held.error as Error).message).toContain("48000 is above 20000");
  world.assertEffects(2);
});

scenario(
  "a call that a person declines never runs, and says who declined it",
  {},
  async (world) => {
    const tool = holding(world);
    await decide(world, await world.run({ tool }), "did-not-happen");
    const after = await world.run({ tool });
    expect(after.told).toBe("OPERATION_FAILED");
    expect((after.error as Error).message).toMatch(
      /^This intent was declined before anything was sent for it: ann decided/,
    );
    world.assertEffects(0);
  },
);

scenario("a rule that can't be applied holds the call", {}, async (world) => {
  const tool = holding(world, () => {
    throw new Error("the limits are not there");
  });
  const held = await world.run({ tool });
  expect(held.told).toBe("NEEDS_REVIEW");
  expect((held.error as Error).message).toContain("the limits are not there");
  world.assertEffects(0);
});
