/**
 * A tool that sends with the fetch, under the guard: what the guard makes of each way in which a send
 * can end, judged by the provider's ledger (cases 53, 54, 58 and 114). And the whole way: agent, guard, fetch, route, guard.
 */
import { Agent, buildConnector } from "undici";
import { expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import {
  type StoredResponse,
  classifyReplies,
  createIdempotentFetch,
  textOf,
} from "../../../src/edges/http/index.ts";
import { type Tool, createGuard, defineTool, hours } from "../../../src/index.ts";
import { movableRuntime } from "../../support/store-faults.ts";
import { describeStores } from "../../support/stores.ts";
import { type World, scenario } from "../../support/world.ts";
import { type Fate, serveRoute, startWire } from "./servers.ts";
import { createHttpWorld } from "./world.ts";

const contract = { classify: classifyReplies({ definitive: [402], notExecuted: [429] }) };

/** The world's refund tool, with the fetch in the place of the provider's SDK. */
function fetchTool(world: World, url = `${world.provider.url}/effects/refund`): Tool {
  const send = createIdempotentFetch({ Agent });
  onTestFinished(() => send.close());
  return world.tool({
    contract,
    execute: (args: object, call: Parameters<Tool["execute"]>[1]) =>
      send(url, { json: args, headers: { "x-tag": call.key } }, call),
  });
}

scenario(
  "a lost reply is unknown, and the resend carries the same key and the same bytes",
  { lookUp: false },
  async (world) => {
    world.provider.fault({ dropReplyAfterCommit: true });
    const tool = fetchTool(world);
    const told = [];
    for (let call = 1; call <= 3; call += 1) told.push((await world.run({ tool })).told);
    expect(told).toEqual(["OUTCOME_UNKNOWN", "EXECUTED", "REPLAYED"]);
    const { wireKey } = await world.row();
    const arrivals = world.provider.arrivals();
    expect(arrivals.map(({ key }) => key)).toEqual([wireKey, wireKey]);
    expect(arrivals[0]?.bodyText).toBe(arrivals[1]?.bodyText);
    world.assertEffects(1);
  },
);

for (const status of [408, 409, 410, 422, 425, 500, 502, 503, 504]) {
  scenario(
    `a ${status} after the effect is unknown to every caller, until the look-up finds the effect`,
    {},
    async (world) => {
      world.provider.fault({ status, effect: true });
      const tool = fetchTool(world);
      const first = await world.run({ tool });
      expect(first.told).toBe("OUTCOME_UNKNOWN");
      const again = await world.run({ tool, guard: await world.another() });
      expect(again.told).toBe("REPLAYED");
      expect(world.provider.arrivals()).toHaveLength(1);
      world.assertEffects(1);
    },
  );
}

scenario(
  "a refusal is settled, a turned away request is not, and neither has an effect",
  { lookUp: false },
  async (world) => {
    const tool = fetchTool(world);
    world.provider.fault({ rateLimited: true }, { decline: true });
    expect((await world.run({ tool })).told).toBe("NOT_SENT");
    expect((await world.run({ tool })).told).toBe("OPERATION_FAILED");
    expect((await world.run({ tool })).told).toBe("OPERATION_FAILED");
    expect(world.provider.arrivals()).toHaveLength(2);
    world.assertEffects(0);
  },
);

scenario(
  "a turned away request that is to come again after the send deadline is told at once, not timed out",
  { lookUp: false, contract: { timeoutMs: 20_000, sendWithinMs: 500 } },
  async (world) => {
    const send = createIdempotentFetch({ Agent, resends: true });
    onTestFinished(() => send.close());
    const tool = world.tool({
      contract,
      execute: (args: object, call: Parameters<Tool["execute"]>[1]) =>
        send(`${world.provider.url}/effects/refund`, { json: args }, call),
    });
    world.provider.fault({ rateLimited: true });
    const told = [];
    for (let call = 1; call <= 3; call += 1) told.push((await world.run({ tool })).told);
    expect(told).toEqual(["NOT_SENT", "EXECUTED", "REPLAYED"]);
    expect(world.provider.arrivals()).toHaveLength(2);
    world.assertEffects(1);
  },
);

/** An agent whose first connection takes its time, which is over at once. */
function slowToConnect(takeTime: () => void): typeof Agent {
  const make = function ({ connect, ...options }: Agent.Options) {
    const connector = buildConnector(connect as buildConnector.BuildOptions);
    let isFirst = true;
    const slow: buildConnector.connector = (target, told) =>
      connector(target, (...outcome) => {
        if (isFirst) takeTime();
        isFirst = false;
        told(...outcome);
      });
    return new Agent({ ...options, connect: slow });
  };
  return make as unknown as typeof Agent;
}

scenario(
  "a connection that takes longer than the send deadline gets no byte, and a new arming uses it",
  { lookUp: false },
  async (world) => {
    const runtime = movableRuntime();
    const send = createIdempotentFetch({ Agent: slowToConnect(() => runtime.move(2001)) });
    onTestFinished(() => send.close());
    const tool = world.tool({
      contract: { ...contract, sendWithinMs: 2000 },
      execute: (args: object, call: Parameters<Tool["execute"]>[1]) =>
        send(`${world.provider.url}/effects/refund`, { json: args }, call),
    });
    const guard = await world.another({ runtime });
    expect((await world.run({ tool, guard })).told).toBe("EXECUTED");
    const row = await world.row();
    expect(row).toMatchObject({ status: "DONE", attempts: 1 });
    const { tenant, key } = row;
    const lines = await world.opened.store.readJournal({ tenant, key, after: null, limit: 100 });
    expect(lines.map(({ event }) => event)).toEqual([
      "operation.claimed",
      "operation.armed",
      "operation.released",
      "operation.armed",
      "operation.completed",
    ]);
    expect((await world.run({ tool, guard })).told).toBe("REPLAYED");
    expect(world.provider.arrivals()).toHaveLength(1);
    world.assertEffects(1);
  },
);

scenario(
  "where nobody listens nothing was sent: the same call runs once the provider is there",
  { lookUp: false },
  async (world) => {
    const send = createIdempotentFetch({ Agent });
    onTestFinished(() => send.close());
    const target = { url: "http://127.0.0.1:1/effects/refund" };
    const tool = world.tool({
      contract,
      execute: (args: object, call: Parameters<Tool["execute"]>[1]) =>
        send(target.url, { json: args }, call),
    });
    expect((await world.run({ tool })).told).toBe("NOT_SENT");
    expect(await world.row()).toMatchObject({ attempts: 0 });
    target.url = `${world.provider.url}/effects/refund`;
    expect((await world.run({ tool })).told).toBe("EXECUTED");
    expect((await world.run({ tool })).told).toBe("REPLAYED");
    world.assertEffects(1);
  },
);

scenario(
  "a call that is withdrawn after the write is unknown, and is found by looking",
  {},
  async (world) => {
    world.provider.fault({ gate: "slow" });
    const caller = new AbortController();
    const tool = fetchTool(world);
    const running = world.run({ tool, context: { signal: caller.signal } });
    await world.provider.parked("slow");
    caller.abort();
    expect((await running).told).toBe("OUTCOME_UNKNOWN");
    world.provider.release("slow");
    await expect.poll(() => world.provider.ledger().length).toBe(1);
    expect((await world.run({ tool })).told).toBe("REPLAYED");
    world.assertEffects(1);
  },
);

describeStores("agent, guard, fetch, route, guard", (suite) => {
  /** An agent's tool that calls the route, and a wire between them that can lose replies. */
  async function wholeWay() {
    const service = await createHttpWorld(suite, createGuard);
    const { url } = await serveRoute("node", service.route({ name: "served" }));
    const faults: Fate[] = [];
    const wire = await startWire(url, () => faults.shift() ?? "pass");
    const target = `${wire}/refunds`;
    const send = createIdempotentFetch({ Agent });
    onTestFinished(() => send.close());
    const tool = defineTool({
      name: "refund",
      kind: "non-idempotent",
      arguments: z.object({ orderId: z.string(), amountMinor: z.int(), reason: z.string() }),
      intent: ({ args }) => `refund:${args.orderId}`,
      businessArguments: ["orderId", "amountMinor"],
      contract: {
        mode: "window",
        timeoutMs: 20_000,
        flightMs: 10_000,
        marginMs: 1000,
        // What the route promises: the key is kept as long as its guard keeps what is settled.
        key: { shape: "uuid", retentionMs: hours(24), atomic: true, afterError: "replays" },
        classify: classifyReplies({ isNeverTwice: true }),
      },
      execute: (args, call): Promise<StoredResponse> =>
        send(target, { json: args, headers: { "x-tenant": "acme", "x-principal": "agent" } }, call),
    });
    const guard = await createGuard({ store: (await suite.open({ clock: service.clock })).store });
    const run = (reason: string, amountMinor = 48_000) =>
      guard.run(tool, { orderId: "8812", amountMinor, reason }, { tenant: "acme" });
    return { service, faults, run };
  }

  it("a reply lost between them costs no second effect: the resend gets the first answer", async () => {
    const { service, faults, run } = await wholeWay();
    faults.push("lose-reply");
    await expect(run("broken")).rejects.toMatchObject({ code: "OUTCOME_UNKNOWN" });
    const outcome = await run("in other words");
    expect(JSON.parse(textOf(outcome.value) ?? "")).toHaveProperty("refund");
    expect((await run("once more")).replayed).toBe(true);
    expect(service.runs.count).toBe(1);
    service.assertEffects(1);
  });

  it("an unknown outcome behind the route stays unknown in front, however often it is asked", async () => {
    const { service, run } = await wholeWay();
    service.provider.fault({ dropReplyAfterCommit: true });
    for (let call = 1; call <= 3; call += 1)
      await expect(run("broken")).rejects.toMatchObject({ code: "OUTCOME_UNKNOWN" });
    expect(service.runs.count).toBe(1);
    service.assertEffects(1);
  });
});
