/**
 * How long things are remembered: by the provider (case 66; R19) and by us (R23, R27).
 */
import { expect } from "vitest";
import { days, hours, seconds } from "../../src/index.ts";
import { stopAt } from "../support/store-faults.ts";
import { keyedContract, refundArgs, scenario, type World } from "../support/world.ts";

const forgetful = { behaviour: { retentionMs: hours(24) }, lookUp: false } as const;
/** R − F − W − margin of the default contract. */
const lastResendMs =
  hours(24) - keyedContract.flightMs - keyedContract.sendWithinMs - (keyedContract.marginMs ?? 0);

async function doubtful(world: World): Promise<void> {
  world.provider.fault({ dropReplyAfterCommit: true });
  expect((await world.run()).told).toBe("OUTCOME_UNKNOWN");
}

scenario(
  "a resend goes out while the provider is sure to remember the key",
  forgetful,
  async (world) => {
    await doubtful(world);
    world.advance(lastResendMs - 1);
    expect((await world.run()).told).toBe("EXECUTED");
    expect(world.provider.counters()).toMatchObject({ arrivals: 2, replays: 1 });
    world.assertEffects(1);
  },
);

scenario(
  "no resend goes out from the moment at which the provider might have forgotten",
  forgetful,
  async (world) => {
    await doubtful(world);
    world.advance(lastResendMs);
    expect((await world.run()).told).toBe("NEEDS_REVIEW");
    expect(world.provider.arrivals()).toHaveLength(1);
    world.assertEffects(1);
  },
);

scenario(
  "the window is measured from the first send and not from the last",
  forgetful,
  async (world) => {
    world.provider.fault({ dropReplyAfterCommit: true }, { dropReplyAfterCommit: true });
    await world.run();
    world.advance(hours(20));
    const second = await world.run();
    world.advance(hours(20));
    const third = await world.run();

    expect([second.told, third.told]).toEqual(["OUTCOME_UNKNOWN", "NEEDS_REVIEW"]);
    expect(world.provider.arrivals()).toHaveLength(2);
    world.assertEffects(1);
  },
);

scenario(
  "the window is measured from the first send and not from the claim",
  forgetful,
  async (world) => {
    // Claimed, and then nothing for two days: the key is not at the provider yet.
    const crash = stopAt("after-claim");
    const tool = world.tool({ lookAlike: { rule: "hold", windowMs: 1000 } });
    const dead = world.run({ tool, guard: await world.another({ onPoint: crash.onPoint }) });
    await crash.reached(dead);
    world.advance(days(2));
    world.provider.fault({ dropReplyAfterCommit: true });
    const second = await world.run({ tool });
    const third = await world.run({ tool });

    expect([second.told, third.told]).toEqual(["OUTCOME_UNKNOWN", "EXECUTED"]);
    expect(world.provider.arrivals()).toHaveLength(2);
    world.assertEffects(1);
  },
);

scenario(
  "a window that closes between the decision and the arming keeps the request at home",
  forgetful,
  async (world) => {
    await doubtful(world);
    world.advance(lastResendMs - 1);
    const guard = await world.another({
      onPoint: ({ name }) => (name === "before-arm" ? world.advance(seconds(5)) : undefined),
    });
    expect((await world.run({ guard })).told).toBe("NEEDS_REVIEW");
    expect(world.provider.arrivals()).toHaveLength(1);
    world.assertEffects(1);
  },
);

scenario(
  "a window that closes between the decision and the arming leaves the look-up's word",
  { behaviour: { retentionMs: hours(24) } },
  async (world) => {
    world.provider.fault({ failBeforeCommit: true });
    await world.run();
    world.advance(lastResendMs - 1);
    const guard = await world.another({
      onPoint: ({ name }) => (name === "before-arm" ? world.advance(seconds(5)) : undefined),
    });
    const told = await world.run({ guard });
    expect(told.told).toBe("NEEDS_REVIEW");
    expect((await world.row()).reviewReason).toContain("doesn't prove that nothing happened");
    world.assertEffects(0);
  },
);

scenario(
  "a duplicate at the end of our own retention is never run again, whether purged or not",
  {},
  async (world) => {
    const first = await world.run();
    const told = [];
    for (const stepMs of [days(45), 0, 1, 1]) {
      world.advance(stepMs);
      const purged = await world.guard.purge();
      told.push([(await world.run()).told, purged]);
    }
    expect(first.told).toBe("EXECUTED");
    expect(told).toEqual([
      ["REPLAYED", 0],
      ["REPLAYED", 0],
      ["KEY_EXPIRED", 1],
      ["KEY_EXPIRED", 0],
    ]);
    const changed = await world.run({ args: { ...refundArgs, amountMinor: 1 } });
    expect(changed.told).toBe("PAYLOAD_MISMATCH");
    world.assertEffects(1);
  },
);

scenario(
  "a purge empties what is settled and old, and nothing that is open, however old",
  { lookUp: false, behaviour: { retentionMs: hours(24) } },
  async (world) => {
    await world.run({ args: { ...refundArgs, ticketId: "done" } });
    world.provider.fault({ decline: true });
    await world.run({ args: { ...refundArgs, ticketId: "failed" } });
    world.provider.fault({ failBeforeCommit: true }, { failBeforeCommit: true });
    await world.run({ args: { ...refundArgs, ticketId: "unknown" } });
    await world.run({ args: { ...refundArgs, ticketId: "review" } });
    world.advance(hours(25));
    await world.run({ args: { ...refundArgs, ticketId: "review" } });
    const crash = stopAt("before-write");
    const args = { ...refundArgs, ticketId: "in-progress" };
    const dead = world.run({ args, guard: await world.another({ onPoint: crash.onPoint }) });
    await crash.reached(dead);
    world.advance(days(3650));

    expect(await world.opened.store.countPurgeable()).toBe(2);
    expect(await world.guard.purge()).toBe(2);
    expect(await world.guard.purge()).toBe(0);
    const rows = await world.rows();
    const kept = rows.filter((row) => row.purgedAtMs === null).map((row) => row.status);
    expect(kept.toSorted()).toEqual(["IN_PROGRESS", "NEEDS_REVIEW", "UNKNOWN"]);
    expect((await world.run({ args: { ...refundArgs, ticketId: "done" } })).told).toBe(
      "KEY_EXPIRED",
    );
    world.assertEffects(1);
  },
);

scenario(
  "a purge that meets a claim of the same key leaves a tombstone, and the claim meets it",
  {},
  async (world) => {
    await world.run();
    world.advance(days(46));
    const stop = stopAt("before-claim");
    const late = world.run({ guard: await world.another({ onPoint: stop.onPoint }) });
    await stop.reached(late);
    expect(await world.guard.purge()).toBe(1);
    stop.release();

    expect((await late).told).toBe("KEY_EXPIRED");
    expect(await world.rows()).toHaveLength(1);
    world.assertEffects(1);
  },
);

scenario("an outcome with an incident is kept until a person has seen it", {}, async (world) => {
  await world.run();
  const { tenant, key } = await world.row();
  await world.opened.store.recordIncident({ tenant, key, incident: "look", detail: "{}" });
  world.advance(days(3650));
  expect(await world.guard.purge()).toBe(0);
  expect((await world.run()).told).toBe("REPLAYED");
  world.assertEffects(1);
});

scenario(
  "a retention that ends before an approval may come is refused before the first call",
  {},
  async (world) => {
    const tooShort = { retentionMs: hours(24), horizon: { approvalWaitMs: days(3) } };
    const enough = {
      retentionMs: days(4),
      horizon: { approvalWaitMs: days(3), longestWorkflowMs: 0, retryHorizonMs: days(1) },
    };
    await expect(world.another(tooShort)).rejects.toMatchObject({ code: "CONFIGURATION_INVALID" });
    await expect(world.another({ ...enough, retentionMs: days(4) - 1 })).rejects.toMatchObject({
      code: "CONFIGURATION_INVALID",
    });
    expect((await world.run({ guard: await world.another(enough) })).told).toBe("EXECUTED");
    world.assertEffects(1);
  },
);
