/**
 * A changed mind is a new intent that names the old one and a reason (R25).
 */
import { expect } from "vitest";
import { interceptStore, stopAt } from "../support/store-faults.ts";
import { type Told, refundArgs, scenario, type World } from "../support/world.ts";

const lower = { ...refundArgs, amountMinor: 24_000 };

function keyOf(told: Told): string {
  return told.outcome?.key ?? (told.error as { key: string }).key;
}

function replacing(key: string, reason = "the customer keeps half of it"): object {
  return { supersedes: { key, reason } };
}

scenario(
  "a settled intent is replaced by a new one, which runs once, and both tell of each other",
  {},
  async (world) => {
    const old = await world.run();
    const context = replacing(keyOf(old));
    const first = await world.run({ args: lower, context });
    const again = await world.run({ args: lower, context, guard: await world.another() });
    const replayed = await world.run();

    expect([old.told, first.told, again.told, replayed.told]).toEqual([
      "EXECUTED",
      "EXECUTED",
      "REPLAYED",
      "REPLAYED",
    ]);
    expect(replayed.outcome?.supersededBy).toBe(keyOf(first));
    expect(replayed.outcome?.text).toContain(keyOf(first));
    expect((await world.row(keyOf(first))).supersedes).toBe(keyOf(old));
    const page = { tenant: "acme", key: keyOf(old), after: null, limit: 100 };
    const lines = await world.opened.store.readJournal(page);
    const recorded = lines.find((line) => line.event === "intent.recorded");
    expect(recorded?.detail).toContain("the customer keeps half of it");
    world.assertEffects(2);
  },
);

scenario(
  "the same words under a replacement are another intent, also with equal arguments",
  {},
  async (world) => {
    const old = await world.run();
    const first = await world.run({ context: replacing(keyOf(old)) });
    const chained = await world.run({ context: replacing(keyOf(first)) });
    const again = await world.run({ context: replacing(keyOf(old)) });
    expect([first.told, chained.told, again.told]).toEqual(["EXECUTED", "EXECUTED", "REPLAYED"]);
    expect(new Set([old, first, chained].map(keyOf)).size).toBe(3);
    world.assertEffects(3);
  },
);

scenario("a second, different replacement of the same intent is refused", {}, async (world) => {
  const old = await world.run();
  const first = await world.run({ args: lower, context: replacing(keyOf(old)) });
  const other = { ...lower, ticketId: "6633" };
  const second = await world.run({ args: other, context: replacing(keyOf(old)) });

  expect([first.told, second.told]).toEqual(["EXECUTED", "INTENT_INVALID"]);
  expect(second.error).toMatchObject({ details: { supersededBy: keyOf(first) } });
  expect(await world.rows()).toHaveLength(2);
  world.assertEffects(2);
});

scenario(
  "two agents that replace one intent at once with different intents: one of them may",
  {},
  async (world) => {
    const old = await world.run();
    const context = replacing(keyOf(old));
    const told = await Promise.all(
      ["a", "b"].map(async (ticketId) =>
        world.run({ args: { ...lower, ticketId }, context, guard: await world.another() }),
      ),
    );
    expect(told.map((one) => one.told).toSorted()).toEqual(["EXECUTED", "INTENT_INVALID"]);
    world.assertEffects(2);
  },
);

scenario(
  "an intent that is not settled can't be replaced: nothing is recorded and nothing is sent",
  {},
  async (world) => {
    world.provider.fault({ gate: "in-flight" });
    const first = world.run();
    await world.provider.parked("in-flight");
    const { key } = await world.row();
    const during = await world.run({ args: lower, context: replacing(key) });
    world.provider.release("in-flight");
    await first;
    const after = await world.run({ args: lower, context: replacing(key) });

    expect([during.told, after.told]).toEqual(["INTENT_UNSETTLED", "EXECUTED"]);
    expect(during.error).toMatchObject({ entry: { httpStatus: 409, sameCall: "safe" } });
    world.assertEffects(2);
  },
);

scenario(
  "an intent in doubt, or with a person, can't be replaced either",
  { lookUp: false },
  async (world) => {
    world.provider.fault({ dropReplyAfterCommit: true });
    const context = replacing(keyOf(await world.run()));
    const inDoubt = await world.run({ args: lower, context });
    world.advance(86_400_000);
    await world.run();
    const inReview = await world.run({ args: lower, context });

    expect([inDoubt.told, inReview.told]).toEqual(["INTENT_UNSETTLED", "INTENT_UNSETTLED"]);
    expect(await world.rows()).toHaveLength(1);
    world.assertEffects(1);
  },
);

scenario(
  "an intent that settles while its replacement is being refused isn't told to be replaced by nothing",
  {},
  async (world) => {
    world.provider.fault({ gate: "in-flight" });
    const first = world.run();
    await world.provider.parked("in-flight");
    const { key } = await world.row();
    const plain = await world.opened.again({ clock: world.clock });
    const store = interceptStore(plain, async (method, call) => {
      const record = await call();
      if (method !== "recordIntent") return record;
      // Refused, for the old intent is not settled; and now it settles.
      world.provider.release("in-flight");
      await first;
      return record;
    });
    const guard = await world.another({ store });
    const told = await world.run({ guard, args: lower, context: replacing(key) });

    expect((await first).told).toBe("EXECUTED");
    expect(["INTENT_UNSETTLED", "EXECUTED"]).toContain(told.told);
    expect(String((told.error as Error | undefined)?.message)).not.toContain("null");
  },
);

scenario(
  "a replacement needs an intent that exists, in this tenant, and a reason",
  {},
  async (world) => {
    const key = keyOf(await world.run());
    const told = [];
    for (const supersedes of [
      { key: "0".repeat(64), reason: "changed mind" },
      { key: "", reason: "changed mind" },
      { key, reason: "" },
      { key, reason: " " },
      { key, reason: undefined as unknown as string },
    ]) {
      told.push((await world.run({ args: lower, context: { supersedes } })).told);
    }
    const context = { tenant: "umbrella", ...replacing(key) };
    told.push((await world.run({ args: lower, context })).told);

    expect(told).toEqual(Array(6).fill("INTENT_INVALID"));
    expect(await world.rows()).toHaveLength(1);
    expect((await world.row()).supersededBy).toBeNull();
    world.assertEffects(1);
  },
);

scenario(
  "a crash between recording the replacement and running it is made good by the same call",
  {},
  async (world) => {
    const context = replacing(keyOf(await world.run()));
    const crash = stopAt("before-claim");
    const guard = await world.another({ onPoint: crash.onPoint });
    const dead = world.run({ guard, args: lower, context });
    await crash.reached(dead);
    const told = await world.run({ args: lower, context });
    expect(told.told).toBe("EXECUTED");
    world.assertEffects(2);
  },
);

scenario("a mismatch makes no new intent by itself", {}, async (world) => {
  await world.run();
  const changed = await world.run({ args: lower });
  expect(changed.told).toBe("PAYLOAD_MISMATCH");
  expect(await world.rows()).toHaveLength(1);
  world.assertEffects(1);
});

async function refusedAndReplaced(world: World): Promise<Told[]> {
  world.provider.fault({ decline: true });
  const refused = await world.run();
  return [refused, await world.run({ context: replacing(keyOf(refused)) })];
}

scenario("a refused intent may be replaced by one that goes through", {}, async (world) => {
  const told = await refusedAndReplaced(world);
  expect(told.map((one) => one.told)).toEqual(["OPERATION_FAILED", "EXECUTED"]);
  expect((await world.run()).told).toBe("OPERATION_FAILED");
  world.assertEffects(1);
});
