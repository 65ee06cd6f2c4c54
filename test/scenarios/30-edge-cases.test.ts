/**
 * The edge cases that a guard is asked about first: two agents at once, a time-out, a provider that
 * has forgotten the key, a changed payload, a restart, and a second refund that is meant.
 */
import { expect } from "vitest";
import { days, hours } from "../../src/index.ts";
import { ManualRuntime } from "../support/worker-wrappers.ts";
import { keyedContract, refundArgs, scenario } from "../support/world.ts";

scenario(
  "two agents at once: the second meets a conflict that says when to come back",
  {},
  async (world) => {
    world.provider.fault({ gate: "first" });
    const first = world.run();
    await world.provider.parked("first");
    const second = await world.run({ guard: await world.another() });
    world.provider.release("first");

    expect(second.error).toMatchObject({ code: "IN_PROGRESS", entry: { httpStatus: 409 } });
    const { details } = second.error as { details: Record<string, number> };
    expect(details["retryAfterMs"]).toBeGreaterThanOrEqual(1000);
    expect((await first).told).toBe("EXECUTED");
    world.assertEffects(1);
  },
);

scenario(
  "two agents at once: the second may wait for the outcome of the first",
  {},
  async (world) => {
    world.provider.fault({ gate: "first" });
    const first = world.run();
    await world.provider.parked("first");
    const guard = await world.another();
    const second = world.run({ guard, context: { onInProgress: { waitMs: 20_000 } } });
    const third = await world.run({ guard, context: { onInProgress: { waitMs: 30 } } });
    world.provider.release("first");

    expect(third.told).toBe("IN_PROGRESS");
    expect([(await first).told, (await second).told]).toEqual(["EXECUTED", "REPLAYED"]);
    world.assertEffects(1);
  },
);

scenario(
  "a time-out: the caller hears that the outcome is unknown, and the effect that came later is found",
  {},
  async (world) => {
    const delayMs = hours(1);
    world.provider.fault({ delayMs });
    const runtime = new ManualRuntime();
    const running = world.run({ guard: await world.another({ runtime }) });
    await expect.poll(() => world.provider.arrivals().length).toBe(1);
    await runtime.advance(keyedContract.timeoutMs + 200);
    const first = await running;
    const landedAtTheTimeOut = world.provider.ledger().length;
    world.provider.advance(delayMs);
    const second = await world.run();

    expect(landedAtTheTimeOut).toBe(0);
    expect([first.told, second.told]).toEqual(["OUTCOME_UNKNOWN", "REPLAYED"]);
    expect(world.provider.arrivals()).toHaveLength(1);
    world.assertEffects(1);
  },
);

const forgetful = { retentionMs: hours(24) };

scenario(
  "an expired provider key, and nobody to ask: nothing is sent again, a person decides",
  { behaviour: forgetful, lookUp: false },
  async (world) => {
    world.provider.fault({ dropReplyAfterCommit: true });
    const first = await world.run();
    world.advance(hours(25));
    const second = await world.run();
    const third = await world.run({ guard: await world.another() });

    expect([first.told, second.told, third.told]).toEqual([
      "OUTCOME_UNKNOWN",
      "NEEDS_REVIEW",
      "NEEDS_REVIEW",
    ]);
    expect(world.provider.arrivals()).toHaveLength(1);
    world.assertEffects(1);
  },
);

scenario(
  "an expired provider key, and proof that nothing happened: sent once more under a new key",
  { behaviour: forgetful, contract: { mode: "proved-absence" } },
  async (world) => {
    world.provider.fault({ failBeforeCommit: true });
    const first = await world.run();
    world.advance(hours(25));
    const second = await world.run();
    const third = await world.run();

    expect([first.told, second.told, third.told]).toEqual([
      "OUTCOME_UNKNOWN",
      "EXECUTED",
      "REPLAYED",
    ]);
    const keys = world.provider.arrivals().map(({ key }) => key);
    expect(new Set(keys).size).toBe(2);
    expect(keys).toHaveLength(2);
    expect(await world.row()).toMatchObject({ generation: 1, attempts: 2, wireKey: keys[1] });
    world.assertEffects(1);
  },
);

scenario(
  "an expired provider key, and an effect that is found: nothing is sent again",
  { behaviour: forgetful, contract: { mode: "proved-absence" } },
  async (world) => {
    world.provider.fault({ dropReplyAfterCommit: true });
    const first = await world.run();
    world.advance(hours(25));
    const second = await world.run();

    expect([first.told, second.told]).toEqual(["OUTCOME_UNKNOWN", "REPLAYED"]);
    expect(world.provider.arrivals()).toHaveLength(1);
    world.assertEffects(1);
  },
);

scenario(
  "a changed payload is told which fields differ, and the right call still replays",
  {},
  async (world) => {
    const first = await world.run();
    const changed = { ...refundArgs, amountMinor: 47_999, currency: "USD", reason: "other" };
    const second = await world.run({ args: changed });
    const third = await world.run({ guard: await world.another() });

    expect([first.told, second.told, third.told]).toEqual([
      "EXECUTED",
      "PAYLOAD_MISMATCH",
      "REPLAYED",
    ]);
    expect(second.error).toMatchObject({
      entry: { httpStatus: 422 },
      details: { fields: ["amountMinor", "currency"] },
    });
    world.assertEffects(1);
  },
);

scenario(
  "a changed payload is a mismatch also while the first call is under way, and never a conflict",
  {},
  async (world) => {
    world.provider.fault({ gate: "first" });
    const first = world.run();
    await world.provider.parked("first");
    const before = await world.row();
    const changed = await world.run({ args: { ...refundArgs, amountMinor: 1 } });
    const same = await world.run();
    expect(await world.row()).toEqual({ ...before, journalSeq: before.journalSeq + 2 });
    world.provider.release("first");

    expect([changed.told, same.told]).toEqual(["PAYLOAD_MISMATCH", "IN_PROGRESS"]);
    expect((await first).told).toBe("EXECUTED");
    world.assertEffects(1);
  },
);

scenario(
  "a changed payload is a mismatch in every status, and changes none of them",
  { lookUp: false },
  async (world) => {
    const other = { args: { ...refundArgs, amountMinor: 1 } };
    const steps: [string, () => void][] = [
      ["UNKNOWN", () => world.provider.fault({ dropReplyAfterCommit: true })],
      ["NEEDS_REVIEW", () => world.advance(days(2))],
    ];
    for (const [status, prepare] of steps) {
      prepare();
      await world.run();
      expect((await world.row()).status).toBe(status);
      expect((await world.run(other)).told).toBe("PAYLOAD_MISMATCH");
      expect((await world.row()).status).toBe(status);
    }
    world.assertEffects(1);
  },
);

scenario(
  "a restart: a new program on the same store knows what the old one did",
  {},
  async (world) => {
    const told = [await world.run()];
    for (let restart = 1; restart <= 3; restart += 1) {
      world.advance(hours(restart));
      told.push(await world.run({ guard: await world.another(), tool: world.tool() }));
    }
    expect(told.map((one) => one.told)).toEqual(["EXECUTED", "REPLAYED", "REPLAYED", "REPLAYED"]);
    expect(told[3]?.outcome?.firstExecutedAt).toBe(told[0]?.outcome?.firstExecutedAt);
    world.assertEffects(1);
  },
);

scenario(
  "a second refund that is meant is a second intent, and both are done once",
  {},
  async (world) => {
    const second = { ...refundArgs, ticketId: "6633" };
    const told = [];
    for (const args of [refundArgs, second, refundArgs, second]) {
      told.push(await world.run({ args }));
    }
    expect(told.map((one) => one.told)).toEqual(["EXECUTED", "EXECUTED", "REPLAYED", "REPLAYED"]);
    expect(told[2]?.outcome?.value).toEqual(told[0]?.outcome?.value);
    expect(told[3]?.outcome?.value).toEqual(told[1]?.outcome?.value);
    world.assertEffects(2);
  },
);
