/**
 * Calls that outlast their lease: refused at registration, or the lease is renewed; and when renewing
 * fails the call is ended before its lease is (cases 33, 41).
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import {
  type GuardOptions,
  NeverTwiceError,
  type Store,
  type Tool,
  type Warning,
  hours,
  minutes,
  seconds,
} from "../../src/index.ts";
import type { ProviderClient } from "../../src/testing/fake-provider/index.ts";
import { crewScenario } from "../support/worker-crew.ts";
import { type WorkerContract, workerRefund } from "../support/worker-tool.ts";
import { ManualRuntime, overriding } from "../support/worker-wrappers.ts";
import { type World, executeRefund, refundArgs, refundLookUp, scenario } from "../support/world.ts";

describe("a tool whose lease doesn't cover its calls", () => {
  const declare = (contract: WorkerContract) => () =>
    workerRefund({} as unknown as ProviderClient, contract);

  it.each<WorkerContract>([
    { timeoutMs: 30_000, leaseMs: 30_000 },
    { timeoutMs: 30_000, leaseMs: 30_999 },
    { timeoutMs: 30_000, leaseMs: 1 },
    { timeoutMs: 30_000, leaseMs: 0 },
    { timeoutMs: 30_000, leaseMs: -40_000 },
    { timeoutMs: 30_000, leaseMs: Number.NaN },
    { timeoutMs: 30_000, leaseMs: Number.POSITIVE_INFINITY },
    // The look-up has to fit in as well; it may take 300 ms.
    { timeoutMs: 30_000, leaseMs: 1299, renewLease: true },
  ])("doesn't register: %o", (contract) => {
    expect(declare(contract)).toThrow(expect.objectContaining({ code: "TOOL_INVALID" }));
    expect(declare(contract)).toThrow("leaseMs");
  });

  it.each<WorkerContract>([
    { timeoutMs: 30_000, leaseMs: 31_000 },
    { timeoutMs: 30_000, leaseMs: 1300, renewLease: true },
    { timeoutMs: 30_000 },
  ])("registers with a lease that does, or that is renewed: %o", (contract) => {
    expect(declare(contract)).not.toThrow();
  });
});

scenario(
  "a job that is dispatched again in mid-call, after 180 s of 300, does not run again",
  { contract: { timeoutMs: seconds(300), leaseMs: seconds(330) } },
  async (world) => {
    world.provider.fault({ gate: "long call" });
    const call = world.run();
    await world.provider.parked("long call");
    world.advance(minutes(3));
    const dispatchedAgain = await world.run({ guard: await world.another() });
    expect(dispatchedAgain.told).toBe("IN_PROGRESS");
    world.advance(minutes(2));
    world.provider.release("long call");
    expect((await call).told).toBe("EXECUTED");
    expect((await world.run({ guard: await world.another() })).told).toBe("REPLAYED");
    expect(world.provider.arrivals()).toHaveLength(1);
    world.assertEffects(1);
  },
);

const leaseMs = 30_000;

/** A tool that renews its lease, and the guard of a worker whose time the test moves by hand. */
async function renewing(world: World, change: RenewingChange = {}) {
  const { send = executeRefund(world.client), options = {} } = change;
  const runtime = new ManualRuntime();
  const aborts: number[] = [];
  const tool = world.tool({
    contract: { timeoutMs: hours(1), leaseMs, renewLease: true, lookUp: quickLookUp(world) },
    execute: (...[args, call]: Parameters<typeof send>) => {
      call.signal.addEventListener("abort", () => void aborts.push(runtime.nowMs));
      return send(args, call);
    },
  });
  const guard = await world.another({ runtime, ...options });
  return { tool, guard, runtime, aborts };
}

interface RenewingChange {
  readonly send?: Tool["execute"];
  readonly options?: Partial<GuardOptions>;
}

function quickLookUp(world: World): ReturnType<typeof refundLookUp> {
  return { ...refundLookUp(world.client), timeoutMs: 20_000 };
}

scenario("a renewed lease keeps others away for as long as the call takes", {}, async (world) => {
  const { tool, guard, runtime, aborts } = await renewing(world);
  world.provider.fault({ gate: "long call" });
  const call = world.run({ tool, guard });
  await world.provider.parked("long call");
  const other = await world.another();
  const isRenewed = async (): Promise<boolean> =>
    (await world.row()).leaseUntilMs === world.clock.nowMs + leaseMs;
  for (let thirds = 1; thirds <= 12; thirds += 1) {
    world.advance(leaseMs / 3);
    expect((await world.run({ guard: other, tool })).told).toBe("IN_PROGRESS");
    await runtime.advance(leaseMs / 3);
    await expect.poll(isRenewed).toBe(true);
    // The worker has heard of it: its time-out, the end of its lease, and its next renewal are set.
    await expect.poll(() => runtime.timers).toBe(3);
  }
  world.provider.release("long call");
  expect((await call).told).toBe("EXECUTED");
  expect(aborts).toEqual([]);
  expect((await world.run({ guard: other, tool })).told).toBe("REPLAYED");
  world.assertEffects(1);
});

scenario(
  "a worker that finds its lease lost when renewing it ends the call and gives the stored outcome",
  {},
  async (world) => {
    const { tool, guard, runtime, aborts } = await renewing(world);
    world.provider.fault({ gate: "long call", before: "reply" });
    const call = world.run({ tool, guard });
    await world.provider.parked("long call");
    const first = await world.row();
    world.advance(leaseMs + 1);
    const taker = await world.run({ guard: await world.another(), tool });
    expect(taker.told).toBe("REPLAYED");

    await runtime.advance(leaseMs / 3);
    const told = await call;
    expect([told.told, told.outcome?.value]).toEqual(["REPLAYED", taker.outcome?.value]);
    expect(aborts).toEqual([leaseMs / 3]);
    expect((await world.row()).token).toBeGreaterThan(first.token);
    world.assertEffects(1);
  },
);

scenario("a renewal that is under way while its call completes does no harm", {}, async (world) => {
  const { store, whenRenewing } = renewingWhileCompleting(world.opened.store);
  const warnings: string[] = [];
  const onWarning = ({ message }: Warning): void => void warnings.push(message);
  const execute = executeRefund(world.client);
  const { tool, guard, runtime, aborts } = await renewing(world, {
    options: { store, onWarning },
    send: async (args, call) => {
      const effect = await execute(args, call);
      await whenRenewing(call.key);
      return effect;
    },
  });
  const calls = Array.from({ length: 100 }, (_, index) =>
    world.run({ guard, tool, args: { ...refundArgs, orderId: String(index) } }),
  );
  await expect.poll(() => world.provider.count()).toBe(100);
  expect(await world.rows()).toHaveLength(100);
  await runtime.advance(leaseMs / 3);

  const answers = await Promise.all(calls);
  expect(answers.map((answer) => answer.told)).toEqual(calls.map(() => "EXECUTED"));
  expect([warnings, aborts]).toEqual([[], []]);
  expect((await world.rows()).map((row) => row.status)).toEqual(calls.map(() => "DONE"));
  world.assertEffects(100);
});

/** Once a renewal has begun it waits until its operation has been completed. */
function renewingWhileCompleting(store: Store) {
  const gates = new Map<string, { open: () => void; opened: Promise<void> }>();
  const gateOf = (name: string) => {
    let open = (): void => {};
    const opened = new Promise<void>((resolve) => (open = resolve));
    const gate = gates.get(name) ?? { open, opened };
    gates.set(name, gate);
    return gate;
  };
  const held: Partial<Store> = {
    renew: async (params) => {
      gateOf(`${params.key} is being renewed`).open();
      await gateOf(`${params.key} is complete`).opened;
      return store.renew(params);
    },
    complete: async (params) => {
      const record = await store.complete(params);
      gateOf(`${params.key} is complete`).open();
      return record;
    },
  };
  return {
    store: overriding(store, held),
    whenRenewing: (key: string) => gateOf(`${key} is being renewed`).opened,
  };
}

/** The store of a worker that can be cut off from its database. */
function cuttable(store: Store) {
  const state = { cut: false };
  const unavailable = (): Promise<never> =>
    Promise.reject(new NeverTwiceError("STORE_UNAVAILABLE", "the database is away"));
  const proxy = new Proxy(store, {
    get: (target, name: keyof Store) =>
      state.cut ? unavailable : (target[name] as () => unknown).bind(target),
  });
  return { state, store: proxy };
}

for (const back of ["before the worker gives up", "only after the worker gave up"] as const) {
  scenario(
    `a store that is away for longer than the lease ends the call first; it is back ${back}`,
    {},
    async (world) => {
      const { state, store } = cuttable(world.opened.store);
      const { tool, guard, runtime, aborts } = await renewing(world, { options: { store } });
      world.provider.fault({ gate: "long call" });
      const call = world.run({ tool, guard });
      await world.provider.parked("long call");
      expect(await world.row()).toMatchObject({ status: "IN_PROGRESS", attempts: 1 });
      state.cut = true;
      await runtime.advance(leaseMs - 1);
      expect(aborts).toEqual([leaseMs - 500]);
      if (back === "before the worker gives up") state.cut = false;
      await runtime.advance(2000);
      expect((await call).told).toBe("OUTCOME_UNKNOWN");
      state.cut = false;
      const left = back === "before the worker gives up" ? "UNKNOWN" : "IN_PROGRESS";
      expect(await world.row()).toMatchObject({ status: left, attempts: 1 });

      // The request was on its way all the time.
      world.provider.release("long call");
      world.advance(leaseMs + minutes(1));
      const sweeper = await world.another({ tools: [tool] });
      expect(await sweeper.sweep()).toEqual([expect.objectContaining({ outcome: "DONE" })]);
      expect((await world.run({ tool })).told).toBe("REPLAYED");
      world.assertEffects(1);
    },
  );
}

crewScenario(
  "an event loop that stands still for longer than the lease loses it, and nothing is sent twice",
  { renewLease: true, leaseMs: 8000, timeoutMs: 60_000 },
  async (crew) => {
    const [blocked, other] = await Promise.all([crew.hire(), crew.hire()]);
    crew.provider.fault({ gate: "reply", before: "reply" });
    const call = blocked.call("run", { orderId: "8812" });
    await crew.provider.parked("reply");
    const file = join(mkdtempSync(join(tmpdir(), "nevertwice-")), "go-on");
    onTestFinished(() => rmSync(dirname(file), { recursive: true }));
    void blocked.call("standStill", { file });
    await blocked.reported("standing still");
    crew.provider.release("reply");

    let taker = await other.call("run", { orderId: "8812" });
    while (taker.told === "IN_PROGRESS") taker = await other.call("run", { orderId: "8812" });
    expect(taker.told).toBe("REPLAYED");
    expect(await crew.statusOf()).toEqual(["DONE"]);
    writeFileSync(file, "");
    const woken = await call;
    expect(["EXECUTED", "REPLAYED"]).toContain(woken.told);
    expect(woken.value).toEqual(taker.value);
    expect(crew.provider.arrivals()).toHaveLength(1);
    crew.assertEffects(1);
  },
);
