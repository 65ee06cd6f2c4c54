/**
 * Review: a person decides, once, on what was looked at; evidence that arrives wins (R30).
 */
import { expect } from "vitest";
import { type Resolution, hours, isNeverTwiceError } from "../../src/index.ts";
import { scenario, type World } from "../support/world.ts";

const blind = { lookUp: false, behaviour: { retentionMs: hours(24) } } as const;

/** An operation in review: its effect exists, or not, and nobody can be asked. */
async function inReview(world: World, effect: boolean): Promise<void> {
  world.provider.fault(effect ? { dropReplyAfterCommit: true } : { failBeforeCommit: true });
  await world.run();
  world.advance(hours(25));
  expect((await world.run()).told).toBe("NEEDS_REVIEW");
}

type Choice = Partial<Resolution> & Pick<Resolution, "decision">;

async function resolve(world: World, choice: Choice): Promise<string> {
  const { tenant, key, version } = await world.row();
  const resolution = { tenant, key, version, by: "ann", why: "seen in the dashboard", ...choice };
  try {
    return (await world.guard.resolve(resolution)).status;
  } catch (error) {
    return isNeverTwiceError(error) ? error.code : String(error);
  }
}

scenario("a person who says that it happened gives callers the result", blind, async (world) => {
  await inReview(world, true);
  const result = { id: "eff_1", amountMinor: 48_000 };
  expect(await resolve(world, { decision: "happened", result, providerId: "eff_1" })).toBe("DONE");
  const told = await world.run();
  expect(told.told).toBe("REPLAYED");
  expect(told.outcome).toMatchObject({ value: result, providerId: "eff_1" });
  expect(world.provider.arrivals()).toHaveLength(1);
  world.assertEffects(1);
});

scenario("a person who says that it happened may leave the result open", blind, async (world) => {
  await inReview(world, true);
  expect(await resolve(world, { decision: "happened" })).toBe("DONE");
  expect((await world.run()).outcome).toMatchObject({ value: undefined, replayed: true });
  world.assertEffects(1);
});

scenario("a person who says that it did not happen ends the intent", blind, async (world) => {
  await inReview(world, false);
  expect(await resolve(world, { decision: "did-not-happen" })).toBe("FAILED");
  const told = await world.run();
  expect(told.told).toBe("OPERATION_FAILED");
  expect((told.error as Error).message).toContain("ann decided that it did not happen");
  world.assertEffects(0);
});

scenario(
  "a person who lets it run again has it sent once, under a new key of the provider's",
  blind,
  async (world) => {
    await inReview(world, false);
    expect(await resolve(world, { decision: "run-again" })).toBe("UNKNOWN");
    const told = await Promise.all([world.run(), world.run({ guard: await world.another() })]);
    const last = await world.run();

    expect(told.map((one) => one.told)).toContain("EXECUTED");
    expect(last.told).toBe("REPLAYED");
    const [first, second, ...more] = world.provider.arrivals();
    expect(more).toEqual([]);
    expect(second?.key).not.toBe(first?.key);
    expect([second?.bodyText, second?.tag]).toEqual([first?.bodyText, first?.tag]);
    expect(await world.row()).toMatchObject({ generation: 1, attempts: 2 });
    world.assertEffects(1);
  },
);

scenario(
  "a run after review whose answer is lost is resent under its own new key",
  blind,
  async (world) => {
    await inReview(world, false);
    await resolve(world, { decision: "run-again" });
    world.provider.fault({ dropReplyAfterCommit: true });
    const told = [(await world.run()).told, (await world.run()).told];
    expect(told).toEqual(["OUTCOME_UNKNOWN", "EXECUTED"]);
    const keys = world.provider.arrivals().map((arrival) => arrival.key);
    expect(keys).toHaveLength(3);
    expect(keys[2]).toBe(keys[1]);
    expect(keys[1]).not.toBe(keys[0]);
    world.assertEffects(1);
  },
);

scenario(
  "a person may have it looked at again",
  { contract: { mode: "strict" } },
  async (world) => {
    world.provider.fault({ dropReplyAfterCommit: true });
    world.provider.behave({ lookUpLagMs: hours(2) });
    await world.run();
    world.advance(hours(1));
    expect((await world.run()).told).toBe("NEEDS_REVIEW");
    world.advance(hours(3));
    expect(await resolve(world, { decision: "look-again" })).toBe("UNKNOWN");
    const sweeper = await world.another({ tools: [world.refund] });
    expect((await sweeper.sweep()).map((one) => one.outcome)).toEqual(["DONE"]);
    expect((await world.run()).told).toBe("REPLAYED");
    expect(world.provider.arrivals()).toHaveLength(1);
    world.assertEffects(1);
  },
);

scenario("of two reviewers at once one wins, and the other learns of it", blind, async (world) => {
  await inReview(world, true);
  const { tenant, key, version } = await world.row();
  const seen = { tenant, key, version, why: "seen in the dashboard" };
  const other = await world.another();
  const results = await Promise.allSettled([
    world.guard.resolve({ ...seen, decision: "happened", by: "ann" }),
    other.resolve({ ...seen, decision: "did-not-happen", by: "bob" }),
  ]);
  const lost = results.filter((result) => result.status === "rejected");

  expect(lost).toHaveLength(1);
  expect(lost[0]?.reason).toMatchObject({ code: "REVIEW_CONFLICT", details: { seen: version } });
  const page = { tenant, key, after: null, limit: 100 };
  const lines = await world.opened.store.readJournal(page);
  expect(lines.filter((line) => line.event === "review.resolved")).toHaveLength(1);
  world.assertEffects(1);
});

scenario(
  "that it did not happen can't be said while a request may still take effect",
  { contract: { mode: "strict" }, lookUp: false },
  async (world) => {
    world.provider.fault({ failBeforeCommit: true });
    await world.run();
    expect((await world.run()).told).toBe("NEEDS_REVIEW");
    const { quietUntilMs } = await world.row();
    const told = [];
    for (const nowMs of [world.clock.nowMs, quietUntilMs, quietUntilMs + 1]) {
      world.advance(nowMs - world.clock.nowMs);
      if (nowMs <= quietUntilMs) told.push(await resolve(world, { decision: "run-again" }));
      told.push(await resolve(world, { decision: "did-not-happen" }));
    }
    expect(told).toEqual([...Array<string>(4).fill("REVIEW_TOO_EARLY"), "FAILED"]);
    world.assertEffects(0);
  },
);

scenario(
  "that it did not happen can't be said later on the strength of an early look",
  { contract: { mode: "strict" }, lookUp: false },
  async (world) => {
    world.provider.fault({ failBeforeCommit: true });
    await world.run();
    expect((await world.run()).told).toBe("NEEDS_REVIEW");
    const { quietUntilMs } = await world.row();
    world.advance(hours(1));
    const told = [];
    expect(await resolve(world, { decision: "happened", lookedAtMs: Number.NaN })).toBe(
      "CONFIGURATION_INVALID",
    );
    for (const lookedAtMs of [0, quietUntilMs, Number.NaN, quietUntilMs + 1]) {
      if (lookedAtMs <= quietUntilMs)
        told.push(await resolve(world, { decision: "run-again", lookedAtMs }));
      told.push(await resolve(world, { decision: "did-not-happen", lookedAtMs }));
    }
    const early = Array<string>(4).fill("REVIEW_TOO_EARLY");
    expect(told).toEqual([...early, "CONFIGURATION_INVALID", "FAILED"]);
    world.assertEffects(0);
  },
);

scenario(
  "that it happened can be said at any time",
  { contract: { mode: "strict" }, lookUp: false },
  async (world) => {
    world.provider.fault({ dropReplyAfterCommit: true });
    await world.run();
    await world.run();
    expect(await resolve(world, { decision: "happened" })).toBe("DONE");
    expect((await world.run()).told).toBe("REPLAYED");
    world.assertEffects(1);
  },
);

scenario(
  "evidence that arrives while a person looks wins, and the person learns of it",
  { contract: { mode: "strict" }, lookUp: false },
  async (world) => {
    world.provider.fault({ gate: "slow", before: "reply" });
    const slow = world.run();
    await world.provider.parked("slow");
    world.advance(60_000);
    expect((await world.run({ guard: await world.another() })).told).toBe("NEEDS_REVIEW");
    const { version } = await world.row();
    world.provider.release("slow");

    expect((await slow).told).toBe("EXECUTED");
    world.advance(hours(1));
    expect(await resolve(world, { decision: "did-not-happen", version })).toBe("REVIEW_CONFLICT");
    expect((await world.run()).told).toBe("REPLAYED");
    expect(await world.row()).toMatchObject({ status: "DONE", reviewReason: null, incident: null });
    world.assertEffects(1);
  },
);

scenario("only what waits for a decision can be decided", {}, async (world) => {
  await world.run();
  const told = [];
  for (const decision of ["happened", "did-not-happen", "run-again", "look-again"] as const) {
    told.push(await resolve(world, { decision }));
  }
  const { tenant, key } = await world.row();
  const incident = { tenant, key, incident: "two effects", detail: "{}" };
  await world.opened.store.recordIncident(incident);
  world.advance(hours(1));
  told.push(await resolve(world, { decision: "did-not-happen" }));
  told.push(await resolve(world, { decision: "happened" }));

  expect(told).toEqual([...Array<string>(5).fill("REVIEW_CONFLICT"), "DONE"]);
  expect(await world.row()).toMatchObject({ status: "DONE", incident: null });
  expect((await world.run()).outcome?.value).toMatchObject({ id: "eff_1" });
  world.assertEffects(1);
});

/** What an early look and a look right now are told for each "no", without and with an incident. */
async function noAnswers(world: World): Promise<(readonly string[])[]> {
  const ask = async (): Promise<readonly string[]> => {
    const told = [(await world.row()).status as string];
    for (const decision of ["did-not-happen", "run-again"] as const) {
      told.push(await resolve(world, { decision, lookedAtMs: 0 }));
      told.push(await resolve(world, { decision }));
    }
    return told;
  };
  const bare = await ask();
  const { tenant, key } = await world.row();
  await world.opened.store.recordIncident({ tenant, key, incident: "seen twice", detail: "{}" });
  return [bare, await ask()];
}

const never = Array<string>(4).fill("REVIEW_CONFLICT");

scenario("it is too early only for what a later look could decide", blind, async (world) => {
  world.provider.fault({ dropReplyAfterCommit: true });
  await world.run();
  const early = Array<string>(4).fill("REVIEW_TOO_EARLY");
  expect(await noAnswers(world)).toEqual([
    ["UNKNOWN", ...never],
    ["UNKNOWN", ...early],
  ]);
  world.assertEffects(1);
});

scenario("for what is DONE no look is ever too early", blind, async (world) => {
  await world.run();
  expect(await noAnswers(world)).toEqual([
    ["DONE", ...never],
    ["DONE", ...never],
  ]);
  world.assertEffects(1);
});

scenario(
  "what is FAILED may be confirmed when its time has come, and never runs again",
  blind,
  async (world) => {
    world.provider.fault({ decline: true });
    await world.run();
    const confirm = Array<string>(2).fill("REVIEW_TOO_EARLY");
    expect(await noAnswers(world)).toEqual([
      ["FAILED", ...never],
      ["FAILED", ...confirm, "REVIEW_CONFLICT", "REVIEW_CONFLICT"],
    ]);
    world.assertEffects(0);
  },
);

scenario("a decision names its operation, its maker and why", blind, async (world) => {
  await inReview(world, true);
  const happened = { decision: "happened" } as const;
  const told = [
    await resolve(world, { ...happened, key: "0".repeat(64) }),
    await resolve(world, { ...happened, tenant: "umbrella" }),
    await resolve(world, { ...happened, by: "" }),
    await resolve(world, { ...happened, why: " " }),
    await resolve(world, { decision: "maybe" as never }),
    await resolve(world, { decision: "constructor" as never }),
    await resolve(world, { decision: undefined as never }),
  ];
  expect(told).toEqual([
    "OPERATION_NOT_FOUND",
    "OPERATION_NOT_FOUND",
    "INTENT_INVALID",
    "INTENT_INVALID",
    "CONFIGURATION_INVALID",
    "CONFIGURATION_INVALID",
    "CONFIGURATION_INVALID",
  ]);
  expect((await world.row()).status).toBe("NEEDS_REVIEW");
  world.assertEffects(1);
});

scenario("a reason may have more than one line, as people write them", blind, async (world) => {
  await inReview(world, true);
  const why = "Seen in the dashboard.\nAsked the customer, too.";
  expect(await resolve(world, { decision: "happened", why })).toBe("DONE");
  world.assertEffects(1);
});

scenario(
  "an operation that can't be sent again by its rules is never sent by a sweeper after review",
  blind,
  async (world) => {
    await inReview(world, true);
    const sweeper = await world.another({ tools: [world.refund] });
    for (let round = 1; round <= 5; round += 1) {
      world.advance(hours(10));
      expect(await sweeper.sweep()).toEqual([]);
    }
    expect((await world.run()).told).toBe("NEEDS_REVIEW");
    world.assertEffects(1);
  },
);
