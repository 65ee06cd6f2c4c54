/**
 * Key, wire key and arguments are captured once: every attempt sends the same bytes under the same token,
 * whatever the operation or the caller does to its objects meanwhile (cases 18 and 20; R17, R19).
 */
import { expect } from "vitest";
import { z } from "zod";
import {
  type ExecuteCall,
  type Point,
  type Tool,
  type WireKeyShape,
  hours,
  wireKeyOf,
} from "../../src/index.ts";
import { type Told, type World, executeRefund, refundLookUp, scenario } from "../support/world.ts";

const atomicKey = { retentionMs: hours(24), atomic: true, afterError: "replays" } as const;

/** Runs the tool as often as it takes, each time with another guard, as after a restart. */
async function runTimes(world: World, tool: Tool, times: number): Promise<Told["told"][]> {
  const told: Told["told"][] = [];
  for (let time = 0; time < times; time += 1) {
    told.push((await world.run({ guard: await world.another(), tool })).told);
    world.advance(1000);
  }
  return told;
}

scenario(
  "attempts 1, 2 and 3 carry the same token and the same body, in every shape of token",
  { lookUp: false },
  async (world) => {
    const shapes: WireKeyShape[] = ["hex", "base64url", "uuid", "uuid-bare"];
    for (const [index, shape] of shapes.entries()) {
      const name = `refund_with_${shape}`;
      const tool = world.tool({
        name,
        operation: name,
        contract: { key: { ...atomicKey, shape } },
      });
      world.provider.fault({ failBeforeCommit: true }, { failBeforeCommit: true });
      const told = await runTimes(world, tool, 4);
      const arrivals = world.provider.arrivals().slice(index * 3);
      const newest = (await world.rows()).find((row) => row.tool === name);

      expect(told).toEqual(["OUTCOME_UNKNOWN", "OUTCOME_UNKNOWN", "EXECUTED", "REPLAYED"]);
      expect(arrivals).toHaveLength(3);
      expect(new Set(arrivals.map(({ key }) => key))).toEqual(new Set([newest?.wireKey]));
      expect(new Set(arrivals.map(({ tag }) => tag))).toEqual(new Set([newest?.key]));
      expect(new Set(arrivals.map(({ bodyText }) => bodyText)).size).toBe(1);
      expect(newest?.wireKey).toBe(wireKeyOf(newest?.key ?? "", { shape }));
    }
    world.assertEffects(shapes.length);
  },
);

scenario(
  "an SDK that sends again by itself sends the guard's token, on attempt 1 and on attempt 3",
  { lookUp: false },
  async (world) => {
    const send = executeRefund(world.client);
    const tool = world.tool({
      execute: async (args: Record<string, unknown>, call: Parameters<Tool["execute"]>[1]) => {
        try {
          return await send(args, call);
        } catch {
          return send(args, call);
        }
      },
    });
    const cut = { failBeforeCommit: true } as const;
    world.provider.fault(cut, cut, cut, cut, { dropReplyAfterCommit: true });
    const told = await runTimes(world, tool, 4);
    const arrivals = world.provider.arrivals();
    const { key, wireKey } = await world.row();

    expect(told).toEqual(["OUTCOME_UNKNOWN", "OUTCOME_UNKNOWN", "EXECUTED", "REPLAYED"]);
    expect(arrivals).toHaveLength(6);
    expect(new Set(arrivals.map((one) => one.key))).toEqual(new Set([wireKey]));
    expect(new Set(arrivals.map((one) => one.tag))).toEqual(new Set([key]));
    expect(wireKey).toBe(wireKeyOf(key, { shape: "uuid" }));
    world.assertEffects(1);
  },
);

scenario(
  "the sweeper's attempt carries the first attempt's token and body, though the tool was changed since",
  { lookUp: false },
  async (world) => {
    world.provider.fault({ failBeforeCommit: true });
    const first = await world.run();
    const reshaped = world.tool({
      contract: { key: { ...atomicKey, shape: "hex" } },
      businessArguments: ["orderId", "amountMinor"],
    });
    const guard = await world.another({ tools: [reshaped] });
    world.advance(60_000);
    const swept = await guard.sweep();

    expect(first.told).toBe("OUTCOME_UNKNOWN");
    expect(swept.map(({ outcome }) => outcome)).toEqual(["DONE"]);
    const arrivals = world.provider.arrivals();
    expect(arrivals).toHaveLength(2);
    expect(arrivals[1]?.key).toBe(arrivals[0]?.key);
    expect(arrivals[1]?.bodyText).toBe(arrivals[0]?.bodyText);
    world.assertEffects(1);
  },
);

/** Made anew for each call: without the guard an operation does change what it gets. */
const basket = (): { orderId: string; items: { sku: string; count: number }[] } => ({
  orderId: "8812",
  items: [{ sku: "a", count: 1 }],
});
const sentBasket = '{"items":[{"count":1,"sku":"a"}],"orderId":"8812"}';

type Change = (args: { processed?: boolean; items: { sku: string; count: number }[] }) => void;

const changes: readonly Change[] = [
  (args) => void (args.processed = true),
  (args) => void args.items.push({ sku: "b", count: 2 }),
  (args) => void Object.assign(args.items[0] ?? {}, { count: 2 }),
];

/** A tool that orders a basket and does something to its arguments before or after. */
function basketTool(
  world: World,
  execute: (args: never, call: ExecuteCall, send: () => Promise<unknown>) => Promise<unknown>,
  more: Record<string, unknown> = {},
): Tool {
  const send = executeRefund(world.client);
  return world.tool({
    arguments: z.object({
      orderId: z.string(),
      items: z.array(z.object({ sku: z.string(), count: z.int() })),
    }),
    intent: ({ args }: { args: { orderId: string } }) => `order:${args.orderId}`,
    businessArguments: ["orderId", "items"],
    execute: (args: never, call: ExecuteCall & { tenant: string }) =>
      execute(args, call, async () => send(args, call)),
    ...more,
  });
}

scenario(
  "an operation that changes its arguments can't: they are frozen, before and after an await",
  {},
  async (world) => {
    const thrown: unknown[] = [];
    const attempt = (args: never): void => {
      for (const change of changes) {
        try {
          change(args);
        } catch (error) {
          thrown.push(error);
        }
      }
    };
    const tool = basketTool(world, async (args, _call, send) => {
      attempt(args);
      const effect = await send();
      attempt(args);
      return effect;
    });
    const first = await world.run({ tool, args: basket() });
    const second = await world.run({ guard: await world.another(), tool, args: basket() });

    expect([first.told, second.told]).toEqual(["EXECUTED", "REPLAYED"]);
    expect(thrown).toEqual(Array(6).fill(expect.any(TypeError)));
    expect((await world.row()).arguments).toBe(sentBasket);
    expect(world.provider.arrivals().map(({ bodyText }) => bodyText)).toEqual([sentBasket]);
    world.assertEffects(1);
  },
);

scenario(
  "an operation that breaks on its frozen arguments after the effect leaves one row, and it is found",
  {},
  async (world) => {
    const tool = basketTool(world, async (args, _call, send) => {
      const effect = await send();
      for (const change of changes) change(args);
      return effect;
    });
    const first = await world.run({ tool, args: basket() });
    const row = await world.row();
    const second = await world.run({ guard: await world.another(), tool, args: basket() });

    expect([first.told, second.told]).toEqual(["OUTCOME_UNKNOWN", "REPLAYED"]);
    expect(row).toMatchObject({ status: "UNKNOWN", arguments: sentBasket });
    expect(await world.row()).toMatchObject({ key: row.key, status: "DONE" });
    world.assertEffects(1);
  },
);

scenario(
  "a caller that changes its own object while the call runs changes nothing of the call",
  {},
  async (world) => {
    const mine = basket();
    const reached: string[] = [];
    const guard = await world.another({
      onPoint: ({ name }: Point) => {
        reached.push(name);
        mine.items.push({ sku: name, count: 9 });
        mine.orderId = `changed-at-${name}`;
      },
    });
    const tool = basketTool(world, (_args, _call, send) => send());
    world.provider.fault({ dropReplyAfterCommit: true });
    const running = world.run({ guard, tool, args: mine });
    mine.items.push({ sku: "at once", count: 9 });
    const first = await running;
    const second = await world.run({ tool, args: basket(), guard: await world.another() });

    expect([first.told, second.told]).toEqual(["OUTCOME_UNKNOWN", "REPLAYED"]);
    expect(reached).toContain("before-claim");
    expect(reached).toContain("before-write");
    expect(world.provider.arrivals().map(({ bodyText }) => bodyText)).toEqual([sentBasket]);
    expect((await world.row()).arguments).toBe(sentBasket);
    world.assertEffects(1);
  },
);

scenario(
  "a caller that changes its object while the provider works is told the outcome of what it asked for",
  {},
  async (world) => {
    const mine = basket();
    const tool = basketTool(world, (_args, _call, send) => send());
    world.provider.fault({ gate: "g" });
    const running = world.run({ tool, args: mine });
    await world.provider.parked("g");
    for (const change of changes) change(mine);
    world.provider.release("g");
    const first = await running;
    const changed = await world.run({ tool, args: mine });
    const repeated = await world.run({ tool, args: basket() });

    expect([first.told, changed.told, repeated.told]).toEqual([
      "EXECUTED",
      "PAYLOAD_MISMATCH",
      "REPLAYED",
    ]);
    expect(first.outcome?.value).toMatchObject(basket());
    world.assertEffects(1);
  },
);

scenario(
  "a look-up gets the captured arguments, frozen, and can't change what is sent afterwards",
  {},
  async (world) => {
    const thrown: unknown[] = [];
    const lookUp = refundLookUp(world.client);
    const tool = basketTool(world, (_args, _call, send) => send(), {
      contract: {
        lookUp: {
          ...lookUp,
          find: (question: Parameters<typeof lookUp.find>[0]) => {
            try {
              changes[1]?.(question.arguments as never);
            } catch (error) {
              thrown.push(error);
            }
            return lookUp.find(question);
          },
        },
      },
    });
    world.provider.fault({ failBeforeCommit: true });
    const told = [];
    for (let time = 0; time < 3; time += 1) {
      told.push((await world.run({ tool, args: basket() })).told);
      world.advance(60_000);
    }

    expect(told).toEqual(["OUTCOME_UNKNOWN", "EXECUTED", "REPLAYED"]);
    expect(thrown).toEqual([expect.any(TypeError)]);
    const bodies = world.provider.arrivals().map(({ bodyText }) => bodyText);
    expect(bodies).toEqual([sentBasket, sentBasket]);
    world.assertEffects(1);
  },
);
