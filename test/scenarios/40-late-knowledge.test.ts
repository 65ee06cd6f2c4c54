/**
 * Success is knowledge: it is merged whatever the token says. What contradicts a settled outcome is
 * an incident, and a person hears of it (R14).
 */
import { expect } from "vitest";
import type { OperationRecord, Tool } from "../../src/index.ts";
import type { ProviderEffect } from "../../src/testing/fake-provider/index.ts";
import { soon, stopAt } from "../support/store-faults.ts";
import { ManualRuntime } from "../support/worker-wrappers.ts";
import { executeRefund, keyedContract, scenario, type World } from "../support/world.ts";

const withId = { providerId: (result: unknown) => (result as ProviderEffect).id };

async function reviewQueue(world: World): Promise<readonly OperationRecord[]> {
  const all = { tenant: null, status: null, operation: null, after: null, limit: 10 };
  return world.opened.store.list({ ...all, review: true });
}

/** Lets the call's time-out pass, and what it may take to say that it had written nothing. */
function giveUp(runtime: ManualRuntime): Promise<void> {
  return runtime.advance(keyedContract.timeoutMs + 200);
}

/** A tool that goes on when it is told to stop, as many do. */
function deaf(world: World): Tool["execute"] {
  const send = executeRefund(world.client);
  return (args, call) => send(args, { ...call, signal: new AbortController().signal });
}

scenario(
  "a success that comes after the call was given up is merged, and nothing is sent again",
  { lookUp: false },
  async (world) => {
    const tool = world.tool({ execute: deaf(world) });
    world.provider.fault({ gate: "slow", before: "reply" });
    const runtime = new ManualRuntime();
    const running = world.run({ tool, guard: await world.another({ runtime }) });
    await world.provider.parked("slow");
    expect((await world.row()).status).toBe("IN_PROGRESS");
    await giveUp(runtime);
    const first = await soon(running);
    expect(first.told).toBe("OUTCOME_UNKNOWN");
    expect((await world.row()).status).toBe("UNKNOWN");
    world.provider.release("slow");
    await expect.poll(async () => (await world.row()).status).toBe("DONE");

    expect((await world.run({ tool })).told).toBe("REPLAYED");
    expect((await world.row()).incident).toBeNull();
    expect(world.provider.arrivals()).toHaveLength(1);
    world.assertEffects(1);
  },
);

scenario("an error that comes after the call was given up changes nothing", {}, async (world) => {
  const send = deaf(world);
  let ended = (): void => {};
  const end = new Promise<void>((resolve) => (ended = resolve));
  const tool = world.tool({
    execute: async (...given: Parameters<typeof send>) => {
      await send(...given);
      ended();
      throw new Error("the log is full");
    },
  });
  world.provider.fault({ gate: "slow" });
  const runtime = new ManualRuntime();
  const running = world.run({ tool, guard: await world.another({ runtime }) });
  await world.provider.parked("slow");
  const before = await world.row();
  expect(before.status).toBe("IN_PROGRESS");
  await giveUp(runtime);
  const first = await soon(running);
  const row = await world.row();
  world.provider.release("slow");
  await end;

  expect(first.told).toBe("OUTCOME_UNKNOWN");
  expect(await world.row()).toEqual(row);
  expect((await world.run({ tool })).told).toBe("REPLAYED");
  world.assertEffects(1);
});

scenario(
  "a success of a worker whose lease is over is merged while another one owns the operation",
  {},
  async (world) => {
    world.provider.fault({ gate: "slow", before: "reply" });
    const slow = world.run();
    await world.provider.parked("slow");
    world.advance(60_000);
    const stop = stopAt("before-look-up");
    const other = world.run({ guard: await world.another({ onPoint: stop.onPoint }) });
    await stop.reached(other);
    world.provider.release("slow");
    expect((await slow).told).toBe("EXECUTED");
    expect((await world.row()).status).toBe("DONE");
    stop.release();

    expect((await other).told).toBe("REPLAYED");
    expect((await world.row()).incident).toBeNull();
    world.assertEffects(1);
  },
);

scenario(
  "two effects, by a provider that broke its word, are an incident for a person",
  { behaviour: { atomicKeys: false }, contract: withId },
  async (world) => {
    world.provider.fault({ gate: "slow" });
    const slow = world.run();
    await world.provider.parked("slow");
    world.advance(60_000);
    const other = await world.run({ guard: await world.another() });
    world.provider.release("slow");

    expect(other.told).toBe("EXECUTED");
    expect((await slow).outcome?.value).toEqual(other.outcome?.value);
    const [waiting, ...more] = await reviewQueue(world);
    expect(more).toEqual([]);
    expect(waiting).toMatchObject({ status: "DONE", providerId: "eff_1" });
    expect(waiting?.incident).toMatch(/a second success came in \(eff_2\) after eff_1.*compensate/);
    // The stored outcome stays as it is, and so does what callers are told.
    expect((await world.run()).outcome?.value).toEqual(other.outcome?.value);
    world.assertEffects(2);
  },
);

scenario(
  "two effects are told apart by their results where the provider names no ids",
  { behaviour: { atomicKeys: false }, lookUp: false },
  async (world) => {
    world.provider.fault({ gate: "slow" });
    const slow = world.run();
    await world.provider.parked("slow");
    world.advance(60_000);
    await world.run({ guard: await world.another() });
    world.provider.release("slow");
    await slow;

    expect((await world.row()).incident).toMatch(/another result\) after the stored one/);
    world.assertEffects(2);
  },
);

scenario(
  "the same effect, seen twice with other words about it, is no incident",
  { contract: withId, behaviour: { pendingMs: 5000 } },
  async (world) => {
    world.provider.fault({ gate: "slow", before: "reply" });
    const slow = world.run();
    await world.provider.parked("slow");
    world.advance(60_000);
    const other = await world.run({ guard: await world.another() });
    world.provider.release("slow");

    expect(other.outcome?.value).toMatchObject({ id: "eff_1", status: "succeeded" });
    expect((await slow).outcome?.value).toEqual(other.outcome?.value);
    expect((await world.row()).incident).toBeNull();
    expect(await reviewQueue(world)).toEqual([]);
    world.assertEffects(1);
  },
);

/** FAILED on the word of a look-up, while the request is still on its way. */
async function failTooSoon(world: World): Promise<{ late: ReturnType<World["run"]>; tool: Tool }> {
  const absent = { answer: "absent", final: true } as const;
  const lookUp = { find: () => absent, lagMs: 1000, authoritative: true };
  const tool = world.tool({ contract: { mode: "strict", lookUp, ...withId } as never });
  world.provider.fault({ gate: "slow" });
  const late = world.run({ tool });
  await world.provider.parked("slow");
  world.advance(600_000);
  const told = await world.run({ tool, guard: await world.another() });
  expect(told.told).toBe("OPERATION_FAILED");
  return { late, tool };
}

scenario(
  "a success after a failure is an incident, and nobody is told of a failure any more",
  {},
  async (world) => {
    const { late, tool } = await failTooSoon(world);
    world.provider.release("slow");
    const told = [(await late).told, (await world.run({ tool })).told];

    expect(told).toEqual(["NEEDS_REVIEW", "NEEDS_REVIEW"]);
    const [waiting] = await reviewQueue(world);
    expect(waiting?.status).toBe("FAILED");
    expect(waiting?.incident).toMatch(/a success came in \(eff_1\) .* an effect exists/);
    const changed = await world.run({
      tool,
      args: { orderId: "x", amountMinor: 1, currency: "EUR" },
    });
    expect(changed.told).toBe("EXECUTED");
    world.assertEffects(2);
  },
);

scenario(
  "a success after a failure is decided by a person, and then it is the outcome",
  {},
  async (world) => {
    const { late, tool } = await failTooSoon(world);
    world.provider.release("slow");
    await late;
    const { tenant, key, version } = await world.row();
    const seen = { tenant, key, version, by: "ann", why: "seen in the dashboard" };
    const happened = {
      decision: "happened",
      result: { id: "eff_1" },
      providerId: "eff_1",
    } as const;
    await world.guard.resolve({ ...seen, ...happened });

    const told = await world.run({ tool });
    expect(told.told).toBe("REPLAYED");
    expect(told.outcome).toMatchObject({ value: { id: "eff_1" }, providerId: "eff_1" });
    expect(await reviewQueue(world)).toEqual([]);
    world.assertEffects(1);
  },
);

scenario(
  "an intent whose failure is contradicted can't be replaced before a person has decided",
  {},
  async (world) => {
    const { late, tool } = await failTooSoon(world);
    world.provider.release("slow");
    await late;
    const { key } = await world.row();
    const supersedes = { key, reason: "it was refused" };
    const told = await world.run({ tool, context: { supersedes } });

    expect(told.told).toBe("INTENT_UNSETTLED");
    world.assertEffects(1);
  },
);

scenario("a success that comes after the outcome was purged changes nothing", {}, async (world) => {
  world.provider.fault({ gate: "slow", before: "reply" });
  const slow = world.run();
  await world.provider.parked("slow");
  world.advance(60_000);
  await world.run({ guard: await world.another() });
  world.advance(46 * 86_400_000);
  expect(await world.guard.purge()).toBe(1);
  world.provider.release("slow");

  expect((await slow).outcome?.status).toBe("DONE");
  expect(await world.row()).toMatchObject({ status: "DONE", incident: null, result: null });
  world.assertEffects(1);
});

scenario(
  "a late success that contradicts what is stored is told to the operator, too",
  { contract: withId, behaviour: { atomicKeys: false } },
  async (world) => {
    const warnings: string[] = [];
    const onWarning = ({ message }: { message: string }): void => void warnings.push(message);
    const absent = { answer: "absent", final: true } as const;
    const lookUp = { find: () => absent, lagMs: 1000, authoritative: true };
    const contract = { mode: "strict", lookUp } as never;
    const tool = world.tool({ execute: deaf(world), contract });
    world.provider.fault({ gate: "slow" });
    const runtime = new ManualRuntime();
    const running = world.run({ tool, guard: await world.another({ runtime, onWarning }) });
    await world.provider.parked("slow");
    expect((await world.row()).status).toBe("IN_PROGRESS");
    await giveUp(runtime);
    expect((await soon(running)).told).toBe("OUTCOME_UNKNOWN");
    world.advance(600_000);
    expect((await world.run({ tool })).told).toBe("OPERATION_FAILED");
    world.provider.release("slow");
    await expect.poll(async () => (await world.row()).incident).toMatch(/an effect exists/);

    await expect.poll(() => warnings).toHaveLength(1);
    expect(warnings[0]).toMatch(/^a late success was not what is stored/);
    world.assertEffects(1);
  },
);
