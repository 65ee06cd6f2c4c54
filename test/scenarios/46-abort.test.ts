/**
 * A caller withdraws: before the claim, before the send, in mid-call, too late (case 85). To withdraw
 * is not to undo.
 */
import { expect } from "vitest";
import type { ExecuteCall, Tool } from "../../src/index.ts";
import { interceptStore, once, soon } from "../support/store-faults.ts";
import { executeRefund, scenario, type World } from "../support/world.ts";

scenario("a call that is withdrawn before it begins leaves no trace", {}, async (world) => {
  const told = await world.run({ context: { signal: AbortSignal.abort("stop") } });
  expect(told.told).toBe("ABORTED");
  expect(told.error).toMatchObject({ cause: "stop" });
  expect(await world.rows()).toEqual([]);
  world.assertEffects(0);
  expect((await world.run()).told).toBe("EXECUTED");
  world.assertEffects(1);
});

for (const [title, contract] of [
  ["armed by its claim", {}],
  ["that arms separately", { mode: "strict" }],
] as const) {
  scenario(
    `a call ${title}, withdrawn before the send, sends nothing, and the next one runs`,
    { contract },
    async (world) => {
      const stop = new AbortController();
      const { onPoint } = once("before-write", () => stop.abort());
      const guard = await world.another({ onPoint });
      const first = await world.run({ guard, context: { signal: stop.signal } });
      expect(world.provider.arrivals()).toEqual([]);
      expect(await world.row()).toMatchObject({ attempts: 0, status: "IN_PROGRESS" });
      const second = await world.run();

      expect([first.told, second.told]).toEqual(["NOT_SENT", "EXECUTED"]);
      world.assertEffects(1);
    },
  );
}

scenario(
  "a resend that is withdrawn before the send leaves the outcome as unknown as it was",
  { lookUp: false },
  async (world) => {
    world.provider.fault({ dropReplyAfterCommit: true });
    await world.run();
    const stop = new AbortController();
    const { onPoint } = once("before-write", () => stop.abort());
    const guard = await world.another({ onPoint });
    const second = await world.run({ guard, context: { signal: stop.signal } });

    expect(second.told).toBe("OUTCOME_UNKNOWN");
    expect(await world.row()).toMatchObject({ attempts: 1, status: "UNKNOWN" });
    expect(world.provider.arrivals()).toHaveLength(1);
    world.assertEffects(1);
  },
);

scenario(
  "a call that is withdrawn in mid-flight is unknown, its client is told, and the effect is found",
  {},
  async (world) => {
    const stop = new AbortController();
    world.provider.fault({ gate: "mid-flight" });
    const running = world.run({ context: { signal: stop.signal } });
    await world.provider.parked("mid-flight");
    expect((await world.row()).status).toBe("IN_PROGRESS");
    stop.abort();
    const first = await soon(running);
    world.provider.release("mid-flight");

    expect(first.told).toBe("OUTCOME_UNKNOWN");
    expect(first.error).toMatchObject({ cause: { code: "ABORTED" } });
    expect((await world.run()).told).toBe("REPLAYED");
    expect(world.provider.arrivals()).toHaveLength(1);
    world.assertEffects(1);
  },
);

scenario(
  "a withdrawn call whose tool goes on all the same is merged when it ends well",
  { lookUp: false },
  async (world) => {
    const send = executeRefund(world.client);
    const deaf = world.tool({
      execute: (args: Record<string, unknown>, call: ExecuteCall) =>
        send(args, { ...call, signal: new AbortController().signal }),
    });
    const stop = new AbortController();
    world.provider.fault({ gate: "mid-flight" });
    const running = world.run({ tool: deaf, context: { signal: stop.signal } });
    await world.provider.parked("mid-flight");
    expect((await world.row()).status).toBe("IN_PROGRESS");
    stop.abort();
    const first = await soon(running);
    expect((await world.row()).status).toBe("UNKNOWN");
    world.provider.release("mid-flight");
    await expect.poll(async () => (await world.row()).status).toBe("DONE");

    expect(first.told).toBe("OUTCOME_UNKNOWN");
    expect((first.error as Error).message).toContain("the caller withdrew");
    expect((await world.run({ tool: deaf })).told).toBe("REPLAYED");
    expect(world.provider.arrivals()).toHaveLength(1);
    world.assertEffects(1);
  },
);

scenario("a call that is withdrawn after its effect is done all the same", {}, async (world) => {
  const stop = new AbortController();
  const { onPoint } = once("after-execute", () => stop.abort());
  const guard = await world.another({ onPoint });
  const first = await world.run({ guard, context: { signal: stop.signal } });
  expect([first.told, (await world.run()).told]).toEqual(["EXECUTED", "REPLAYED"]);
  world.assertEffects(1);
});

scenario("a caller that waits may stop waiting, and the other goes on", {}, async (world) => {
  world.provider.fault({ gate: "busy" });
  const busy = world.run();
  await world.provider.parked("busy");
  expect((await world.row()).status).toBe("IN_PROGRESS");
  const stop = new AbortController();
  const context = { signal: stop.signal, onInProgress: { waitMs: 20_000 } };
  const plain = await world.opened.again({ clock: world.clock });
  // Stops while it rests after its first look.
  const store = interceptStore(plain, async (method, call) => {
    const answer = await call();
    if (method === "read") setTimeout(() => stop.abort(), 5);
    return answer;
  });
  const waiting = world.run({ guard: await world.another({ store }), context });
  const told = await soon(waiting);
  world.provider.release("busy");

  expect(told.told).toBe("IN_PROGRESS");
  expect((await busy).told).toBe("EXECUTED");
  world.assertEffects(1);
});

/** Looks at the signal before the write, as a client of one's own would. */
function attentive(world: World, beforeWrite: () => void): Tool["execute"] {
  const send = executeRefund(world.client);
  return (args, call) => {
    beforeWrite();
    // The client is not told of the signal; the check in the turn of the write is all there is.
    return send(args, { ...call, signal: new AbortController().signal });
  };
}

scenario(
  "a call that is withdrawn inside the client is stopped in the turn of the write",
  {},
  async (world) => {
    const stop = new AbortController();
    const tool = world.tool({ execute: attentive(world, () => stop.abort()) });
    const first = await world.run({ tool, context: { signal: stop.signal } });
    expect(first.told).toBe("NOT_SENT");
    expect(world.provider.arrivals()).toEqual([]);
    world.assertEffects(0);
    const again = new AbortController();
    const calm = await world.run({ tool, context: { signal: again.signal } });
    expect(calm.told).toBe("EXECUTED");
    world.assertEffects(1);
  },
);
