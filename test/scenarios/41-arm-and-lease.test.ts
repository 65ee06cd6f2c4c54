/**
 * Arming, the send deadline, the lease, and what a resend looks like on the wire (R10, R11, R17).
 */
import { expect } from "vitest";
import { z } from "zod";
import { hours, type Tool } from "../../src/index.ts";
import { dropCalls, movableRuntime, once, stopAt } from "../support/store-faults.ts";
import { ManualRuntime } from "../support/worker-wrappers.ts";
import {
  executeRefund,
  keyedContract,
  refundArgs,
  refundLookUp,
  scenario,
  type World,
} from "../support/world.ts";

const { sendWithinMs } = keyedContract;

async function events(world: World): Promise<string[]> {
  const { tenant, key } = await world.row();
  const page = { tenant, key, after: null, limit: 1000 };
  return (await world.opened.store.readJournal(page)).map((line) => line.event);
}

scenario(
  "a send deadline that passes between arming and writing: nothing is sent, and it is armed again",
  {},
  async (world) => {
    const runtime = movableRuntime();
    const { onPoint } = once("before-write", () => runtime.move(sendWithinMs + 1));
    const told = await world.run({ guard: await world.another({ runtime, onPoint }) });

    expect(told.told).toBe("EXECUTED");
    expect(await world.row()).toMatchObject({ attempts: 1, status: "DONE" });
    expect(await events(world)).toEqual([
      "operation.claimed",
      "operation.armed",
      "operation.released",
      "operation.armed",
      "operation.completed",
    ]);
    expect(world.provider.arrivals()).toHaveLength(1);
    world.assertEffects(1);
  },
);

/** Dawdles between the guard's check and the write, the first so many times. */
function dawdling(world: World, dawdle: () => void, times: number): Tool["execute"] {
  const send = executeRefund(world.client);
  let left = times;
  return (args, call) => {
    if (left > 0) dawdle();
    left -= 1;
    return send(args, call);
  };
}

scenario(
  "a send deadline that passes inside the client is checked in the very turn of the write",
  {},
  async (world) => {
    const runtime = movableRuntime();
    const tool = world.tool({ execute: dawdling(world, () => runtime.move(sendWithinMs + 1), 1) });
    const told = await world.run({ tool, guard: await world.another({ runtime }) });

    expect(told.told).toBe("EXECUTED");
    expect((await world.row()).attempts).toBe(1);
    expect(await events(world)).toContain("operation.released");
    expect(world.provider.arrivals()).toHaveLength(1);
    world.assertEffects(1);
  },
);

scenario(
  "a client that is always too late sends nothing at all, and the same call is safe",
  {},
  async (world) => {
    const runtime = movableRuntime();
    const tool = world.tool({ execute: dawdling(world, () => runtime.move(sendWithinMs + 1), 3) });
    const guard = await world.another({ runtime });
    const first = await world.run({ tool, guard });
    expect(world.provider.arrivals()).toEqual([]);
    expect((await world.row()).attempts).toBe(0);
    const second = await world.run({ tool, guard });

    expect([first.told, second.told]).toEqual(["NOT_SENT", "EXECUTED"]);
    world.assertEffects(1);
  },
);

scenario(
  "a resend that comes too late is not sent, and the first attempt stays as unknown as it was",
  { lookUp: false },
  async (world) => {
    world.provider.fault({ failBeforeCommit: true });
    await world.run();
    const runtime = movableRuntime();
    const { onPoint } = once("before-write", () => runtime.move(sendWithinMs + 1));
    const second = await world.run({ guard: await world.another({ runtime, onPoint }) });
    const between = await world.row();
    const third = await world.run();

    expect([second.told, third.told]).toEqual(["OUTCOME_UNKNOWN", "EXECUTED"]);
    expect(between).toMatchObject({ attempts: 1, status: "UNKNOWN" });
    world.assertEffects(1);
  },
);

scenario(
  "a worker that was taken over while it was late neither sends nor arms again",
  {},
  async (world) => {
    const runtime = movableRuntime();
    const stop = stopAt("before-write");
    const guard = await world.another({ runtime, onPoint: stop.onPoint });
    const slow = world.run({ guard });
    await stop.reached(slow);
    runtime.move(sendWithinMs + 1);
    world.advance(60_000);
    const other = await world.run();
    stop.release();

    expect(other.told).toBe("EXECUTED");
    expect((await slow).told).toBe("REPLAYED");
    expect(world.provider.arrivals()).toHaveLength(1);
    world.assertEffects(1);
  },
);

scenario(
  "a worker that was taken over before it armed stays at home",
  { contract: { mode: "strict" } },
  async (world) => {
    const stop = stopAt("before-arm");
    const slow = world.run({ guard: await world.another({ onPoint: stop.onPoint }) });
    await stop.reached(slow);
    world.advance(60_000);
    const other = await world.run();
    stop.release();

    expect(other.told).toBe("EXECUTED");
    expect((await slow).told).toBe("REPLAYED");
    expect(world.provider.arrivals()).toHaveLength(1);
    world.assertEffects(1);
  },
);

scenario(
  "a worker that was taken over between look-up and resend stays at home",
  { lookUp: false },
  async (world) => {
    world.provider.fault({ failBeforeCommit: true });
    await world.run();
    const stop = stopAt("before-arm");
    const slow = world.run({ guard: await world.another({ onPoint: stop.onPoint }) });
    await stop.reached(slow);
    world.advance(60_000);
    const other = await world.run();
    stop.release();

    expect(other.told).toBe("EXECUTED");
    expect((await slow).told).toBe("REPLAYED");
    expect(world.provider.arrivals()).toHaveLength(2);
    world.assertEffects(1);
  },
);

scenario(
  "a resend is the first request byte for byte, whatever the tool's declaration says by now",
  { lookUp: false },
  async (world) => {
    const faults = Array.from({ length: 3 }, () => ({ failBeforeCommit: true }) as const);
    world.provider.fault(...faults);
    await world.run();
    const key = { ...keyedContract.key, shape: "hex" as const };
    const changed = world.tool({
      businessArguments: ["currency", "amountMinor", "orderId"],
      contract: { key },
    });
    await world.run({ tool: changed, guard: await world.another() });
    // The sweeper has no caller's arguments at all.
    const moreFields = world.tool({
      arguments: z.object({ orderId: z.string(), memo: z.string().default("none") }),
      businessArguments: ["orderId", "memo"],
      contract: { key },
    });
    world.advance(hours(1));
    await (await world.another({ tools: [moreFields] })).sweep();
    const last = await world.run();

    expect(last.told).toBe("EXECUTED");
    const arrivals = world.provider.arrivals();
    expect(arrivals).toHaveLength(4);
    const sent = arrivals.map((arrival) => [arrival.key, arrival.tag, arrival.bodyText]);
    expect(new Set(sent.map((parts) => JSON.stringify(parts))).size).toBe(1);
    const headers = arrivals.map((arrival) => JSON.stringify(arrival.headers));
    expect(new Set(headers).size).toBe(1);
    world.assertEffects(1);
  },
);

scenario(
  "what a tool does to its arguments, or a caller to its own, changes nothing that is sent or stored",
  { lookUp: false },
  async (world) => {
    const send = executeRefund(world.client);
    const tool = world.tool({
      arguments: z.object({ orderId: z.string(), lines: z.array(z.object({ sku: z.string() })) }),
      businessArguments: ["orderId", "lines"],
      execute: async (args: Record<string, unknown>, call: Parameters<typeof send>[1]) => {
        expect(() => (args["lines"] as unknown[]).push("more")).toThrow(TypeError);
        expect(() => (args["orderId"] = "1")).toThrow(TypeError);
        return send(args, call);
      },
    });
    const stop = stopAt("before-write");
    const mine = { orderId: "8812", lines: [{ sku: "a" }] };
    const first = world.run({
      tool,
      args: mine,
      guard: await world.another({ onPoint: stop.onPoint }),
    });
    await stop.reached(first);
    mine.orderId = "9999";
    mine.lines.push({ sku: "b" });
    stop.release();
    expect((await first).told).toBe("EXECUTED");
    const again = await world.run({ tool, args: { orderId: "8812", lines: [{ sku: "a" }] } });

    expect(again.told).toBe("REPLAYED");
    expect(world.provider.ledger()[0]?.body).toEqual({ orderId: "8812", lines: [{ sku: "a" }] });
    expect(await world.rows()).toHaveLength(1);
    world.assertEffects(1);
  },
);

const longLeaseMs = 30_000;

/** A call may take an hour; the lease is half a minute and renewed every ten seconds. */
function longTool(world: World): Tool {
  const lookUp = { ...refundLookUp(world.client), timeoutMs: 20_000 };
  const renewed = { timeoutMs: hours(1), leaseMs: longLeaseMs, renewLease: true };
  return world.tool({ contract: { ...renewed, lookUp } });
}

scenario(
  "a long call renews its lease, and another worker meets a conflict all the while",
  {},
  async (world) => {
    const tool = longTool(world);
    const runtime = new ManualRuntime();
    world.provider.fault({ gate: "long" });
    const long = world.run({ tool, guard: await world.another({ runtime }) });
    await world.provider.parked("long");
    expect((await world.row()).status).toBe("IN_PROGRESS");
    const told = [];
    for (let renewal = 1; renewal <= 2; renewal += 1) {
      world.advance(20_000);
      await runtime.advance(longLeaseMs / 3);
      // Its time-out, the end of its lease, and its next renewal.
      await expect.poll(() => runtime.timers).toBe(3);
      told.push((await world.run({ tool, guard: await world.another() })).told);
    }
    world.provider.release("long");

    expect(told).toEqual(["IN_PROGRESS", "IN_PROGRESS"]);
    expect((await long).told).toBe("EXECUTED");
    expect(await events(world)).toContain("operation.renewed");
    world.assertEffects(1);
  },
);

scenario(
  "a lease that can't be renewed ends the call before another worker may begin",
  {},
  async (world) => {
    const tool = longTool(world);
    const store = dropCalls(await world.opened.again({ clock: world.clock }), {
      methods: ["renew"],
      when: "before",
    });
    const runtime = new ManualRuntime();
    world.provider.fault({ gate: "long" });
    const long = world.run({ tool, guard: await world.another({ store, runtime }) });
    await world.provider.parked("long");
    expect((await world.row()).status).toBe("IN_PROGRESS");
    await runtime.advance(longLeaseMs - 1);
    const told = await long;
    world.provider.release("long");

    expect(told).toMatchObject({ told: "OUTCOME_UNKNOWN" });
    // The client hears of it by its signal; the provider goes on all the same.
    await expect.poll(() => world.provider.ledger().length).toBe(1);
    expect((await world.run({ tool })).told).toBe("REPLAYED");
    world.assertEffects(1);
  },
);

scenario(
  "a worker that learns at its renewal that it was taken over stops, and adds nothing",
  {},
  async (world) => {
    const tool = longTool(world);
    const runtime = new ManualRuntime();
    world.provider.fault({ gate: "long" }, { keyInUse: true });
    const long = world.run({ tool, guard: await world.another({ runtime }) });
    await world.provider.parked("long");
    expect((await world.row()).status).toBe("IN_PROGRESS");
    world.advance(60_000);
    const other = await world.run({ tool, guard: await world.another() });
    const row = await world.row();
    await runtime.advance(longLeaseMs / 3);
    const told = await long;
    world.provider.release("long");

    expect(other.told).toBe("OUTCOME_UNKNOWN");
    expect(told).toMatchObject({ told: "OUTCOME_UNKNOWN" });
    expect(await world.row()).toEqual({ ...row, readAtMs: world.clock.nowMs });
    await expect.poll(() => world.provider.ledger().length).toBe(1);
    expect((await world.run({ tool })).told).toBe("REPLAYED");
    world.assertEffects(1);
  },
);

scenario(
  "a long call without a look-up may have a short lease that is renewed",
  {},
  async (world) => {
    const contract = { timeoutMs: hours(1), leaseMs: 1500, renewLease: true, lookUp: undefined };
    const tool = world.tool({ contract: contract as never });
    const guard = await world.another({ runtime: new ManualRuntime() });
    const told = [(await world.run({ tool, guard })).told, (await world.run({ tool, guard })).told];
    expect(told).toEqual(["EXECUTED", "REPLAYED"]);
    world.assertEffects(1);
  },
);

scenario(
  "a claim for which the clock of a worker goes wrong is judged by the database's",
  {},
  async (world) => {
    const early = movableRuntime();
    const late = movableRuntime();
    late.move(hours(10));
    world.provider.fault({ gate: "first" });
    const first = world.run({ guard: await world.another({ runtime: early }) });
    await world.provider.parked("first");
    early.move(hours(10));
    world.advance(keyedContract.timeoutMs + 4999);
    const before = await world.run({ guard: await world.another({ runtime: late }) });
    world.advance(1);
    const after = await world.run({ guard: await world.another({ runtime: late }) });
    world.provider.release("first");

    expect([before.told, after.told]).toEqual(["IN_PROGRESS", "OUTCOME_UNKNOWN"]);
    expect((await first).told).toBe("EXECUTED");
    expect((await world.run({ args: refundArgs })).told).toBe("REPLAYED");
    world.assertEffects(1);
  },
);
