/**
 * However a tool fails, the row says so when its caller hears of it, and the next caller gets the
 * stored answer or an error, never a made-up success (case 39).
 */
import { expect } from "vitest";
import { z } from "zod";
import type { Tool } from "../../src/index.ts";
import { ManualRuntime } from "../support/worker-wrappers.ts";
import { type World, executeRefund, refundArgs, scenario } from "../support/world.ts";

class CardNetworkError extends Error {
  override readonly name = "CardNetworkError";
  readonly amount = 48_000n;
}

const cyclic: Error & { self?: unknown } = new Error("cyclic");
cyclic.self = cyclic;

/** What tools throw, by name. */
const thrown: readonly (readonly [string, unknown])[] = [
  ["an error", new Error("boom")],
  ["an error without a message", new Error()],
  ["an error of a class of its own, with a bigint", new CardNetworkError("broken")],
  ["a cyclic error", cyclic],
  ["an abort", new DOMException("This operation was aborted", "AbortError")],
  ["a validation error", z.string().safeParse(1).error],
  ["null", null],
  ["undefined", undefined],
  ["a string", "boom"],
  ["a number", 0],
  ["a symbol", Symbol("boom")],
  ["a plain object", { code: "ECONNRESET", syscall: "read" }],
  ["an object without a prototype", Object.create(null) as unknown],
  ["an error whose message is no text", Object.assign(new Error(), { message: { why: "boom" } })],
  ["an error with a getter that throws", withThrowingGetter(new Error("boom"), "code")],
  ["an error whose message throws", withThrowingGetter(new Error(), "message")],
  ["an object that can't be turned into text", { toString: () => fail() }],
  ["a proxy that refuses everything", new Proxy({}, { get: fail, has: fail, ownKeys: fail })],
];

scenario(
  "whatever a tool throws after its effect leaves it unknown, and found",
  {},
  async (world) => {
    const send = executeRefund(world.client);
    const due = new Map(thrown.map(([name, what]) => [name, { what }]));
    const tool = world.tool({
      execute: async (...[args, call]: Parameters<typeof send>) => {
        const effect = await send(args, call);
        const { orderId } = args as { orderId: string };
        const failure = due.get(orderId);
        due.delete(orderId);
        if (failure !== undefined) throw failure.what;
        return effect;
      },
    });
    const seen: Record<string, unknown> = {};
    for (const [name] of thrown) {
      const args = { ...refundArgs, orderId: name };
      const first = await world.run({ tool, args });
      const left = (await world.rows()).find((row) => row.intent.includes(`order-${name}:`));
      const second = await world.run({ tool, args });
      seen[name] = [first.told, left?.status, typeof left?.error, second.told];
    }
    const each = ["OUTCOME_UNKNOWN", "UNKNOWN", "string", "REPLAYED"];
    expect(seen).toEqual(Object.fromEntries(thrown.map(([name]) => [name, each])));
    expect((await world.rows()).map((row) => row.status)).toEqual(thrown.map(() => "DONE"));
    world.assertEffects(thrown.length);
  },
);

scenario("a tool that throws before it returns a promise is unknown as well", {}, async (world) => {
  const tool = failingOnce(world, () => {
    throw new Error("boom");
  });
  expect((await world.run({ tool })).told).toBe("OUTCOME_UNKNOWN");
  expect(await world.row()).toMatchObject({ status: "UNKNOWN", attempts: 1 });
  // The look-up finds nothing; the same key makes the second send safe.
  expect((await world.run({ tool })).told).toBe("EXECUTED");
  world.assertEffects(1);
});

scenario(
  "a tool that never settles is given up at its time-out, and the row says so",
  { contract: { timeoutMs: 15_000 } },
  async (world) => {
    let sent = (): void => {};
    const whenSent = new Promise<void>((resolve) => (sent = resolve));
    const tool = failingOnce(world, async (send) => {
      await send();
      sent();
      await new Promise(() => {});
    });
    const runtime = new ManualRuntime();
    const running = world.run({ tool, guard: await world.another({ runtime }) });
    await whenSent;
    await runtime.advance(14_999);
    expect((await world.row()).status).toBe("IN_PROGRESS");
    await runtime.advance(200);
    expect((await running).told).toBe("OUTCOME_UNKNOWN");
    expect(await world.row()).toMatchObject({
      status: "UNKNOWN",
      error: expect.stringContaining("no answer within 15000 ms"),
    });
    expect((await world.run({ tool })).told).toBe("REPLAYED");
    world.assertEffects(1);
  },
);

scenario(
  "a caller that goes away in mid-call leaves an unknown outcome, not a claim for ever",
  {},
  async (world) => {
    const controller = new AbortController();
    world.provider.fault({ gate: "reply", before: "reply" });
    const call = world.run({ context: { signal: controller.signal } });
    await world.provider.parked("reply");
    controller.abort();
    world.provider.release("reply");
    expect((await call).told).toBe("OUTCOME_UNKNOWN");
    expect(await world.row()).toMatchObject({ status: "UNKNOWN" });
    expect((await world.run()).told).toBe("REPLAYED");
    world.assertEffects(1);
  },
);

scenario("a classifier that throws proves nothing", {}, async (world) => {
  const tool = world.tool({ contract: { classify: fail } });
  world.provider.fault({ status: 500, effect: true, saved: "success" });
  expect((await world.run({ tool })).told).toBe("OUTCOME_UNKNOWN");
  expect(await world.row()).toMatchObject({ status: "UNKNOWN" });
  expect((await world.run({ tool })).told).toBe("REPLAYED");
  world.assertEffects(1);
});

scenario("arguments that the tool's schema refuses leave no row behind", {}, async (world) => {
  const wrong = { ...refundArgs, amountMinor: "480" };
  expect((await world.run({ args: wrong })).told).toBe("ARGUMENTS_INVALID");
  expect(await world.rows()).toEqual([]);
  expect((await world.run()).told).toBe("EXECUTED");
  expect((await world.run()).told).toBe("REPLAYED");
  world.assertEffects(1);
});

/** The refund tool with a first call that goes wrong in some way. */
function failingOnce(
  world: World,
  failing: (send: () => Promise<unknown>) => Promise<unknown>,
): Tool {
  const send = executeRefund(world.client);
  let calls = 0;
  return world.tool({
    execute: (...[args, call]: Parameters<typeof send>) => {
      calls += 1;
      return calls === 1 ? failing(async () => send(args, call)) : send(args, call);
    },
  });
}

function withThrowingGetter(error: Error, name: string): Error {
  return Object.defineProperty(error, name, { get: fail });
}

function fail(): never {
  throw new Error("not even that can be read");
}
