/**
 * Which calls are one intent: the same trusted ids in the same tenant, whatever run, attempt or tool
 * call they come from (cases 7, 8, 11, 12, 13 and 14; R5).
 */
import { expect } from "vitest";
import type { RunContext } from "../../src/index.ts";
import { type Told, type World, refundArgs, scenario } from "../support/world.ts";

/** A refund tool whose intent is what the orchestrator vouches for. */
function trustingTool(world: World, more: Record<string, unknown> = {}): ReturnType<World["tool"]> {
  return world.tool({ name: "trusting_refund", intent: trustedIntent, ...more });
}

function trustedIntent({ trusted }: { trusted: Record<string, unknown> }): unknown {
  return trusted["intent"];
}

async function runEach(
  world: World,
  tool: ReturnType<World["tool"]>,
  contexts: readonly Record<string, unknown>[],
): Promise<Told["told"][]> {
  const told: Told["told"][] = [];
  for (const context of contexts) told.push((await world.run({ tool, context })).told);
  return told;
}

const intents = (...values: readonly unknown[]): { trusted: { intent: unknown } }[] =>
  values.map((intent) => ({ trusted: { intent } }));

scenario("an intent in composed and in decomposed text is one intent", {}, async (world) => {
  const tool = trustingTool(world);
  const calls = intents(
    "refund:caf\u00e9",
    "refund:cafe\u0301",
    { shop: "caf\u00e9" },
    { shop: "cafe\u0301" },
  );

  expect(await runEach(world, tool, calls)).toEqual([
    "EXECUTED",
    "REPLAYED",
    "EXECUTED",
    "REPLAYED",
  ]);
  world.assertEffects(2);
});

scenario(
  "intent ids that people can't tell apart by eye are refused, not trimmed",
  {},
  async (world) => {
    const tool = trustingTool(world);
    const unreadable =
      "refund:1 | refund:1|refund:1\r\n|refund:\u200b1|refund:1\u200b|refund:1\u202e|refund:1\u2028|" +
      "refund:\ufeff1|refund:\u00001|refund:\ud8001";
    const calls = intents(...unreadable.split("|"));
    const told = await runEach(world, tool, calls);

    expect(told).toEqual(calls.map(() => "INTENT_INVALID"));
    expect(await world.rows()).toEqual([]);
    world.assertEffects(0);
  },
);

scenario(
  "an intent, a tenant or a workflow that is missing in whole or in part is refused",
  {},
  async (world) => {
    const tool = trustingTool(world);
    const scoped = await world.another();
    const absent = [undefined, null, "", "  ", {}, 0, false, [], ["u"]];
    const partlyAbsent = [null, undefined, "", " "].map((order) => ({ user: "u", order }));
    const calls = intents(...absent, { user: null, order: null }, ...partlyAbsent);
    const told = await runEach(world, tool, calls);
    for (const tenant of [undefined, null, "", " "] as unknown as string[]) {
      const context = { tenant, trusted: { intent: "refund:1" } };
      told.push((await world.run({ tool, context })).told);
    }
    for (const scope of ["workflow", "step"]) {
      const guard = await world.another();
      const narrow = trustingTool(world, { scope });
      const context = { workflowId: "", stepId: "s", trusted: { intent: "refund:1" } };
      told.push((await world.run({ guard, tool: narrow, context })).told);
    }
    const unstepped = trustingTool(world, { scope: "step" });
    const context = { workflowId: "w", trusted: { intent: "refund:1" } };
    told.push((await world.run({ guard: scoped, tool: unstepped, context })).told);

    expect(told).toEqual(told.map(() => "INTENT_INVALID"));
    expect(told).toHaveLength(calls.length + 7);
    expect(await world.rows()).toEqual([]);
    expect(world.provider.arrivals()).toEqual([]);
    world.assertEffects(0);
  },
);

scenario(
  "an id that is forgotten deep inside an intent is refused, too, and not left out",
  {},
  async (world) => {
    const tool = trustingTool(world);
    const calls = intents(
      { order: { id: undefined, line: "1" } },
      { orders: [{ id: undefined, line: "1" }] },
    );

    expect(await runEach(world, tool, calls)).toEqual(["INTENT_INVALID", "INTENT_INVALID"]);
    expect(await world.rows()).toEqual([]);
    world.assertEffects(0);
  },
);

scenario("ids that read alike when joined are different intents", {}, async (world) => {
  const tool = trustingTool(world, { scope: "workflow" });
  const calls: Partial<RunContext>[] = [":", "|", ",", '"', '","'].flatMap((joint) => [
    { tenant: "a", workflowId: `b${joint}c`, trusted: { intent: "i" } },
    { tenant: `a${joint}b`, workflowId: "c", trusted: { intent: "i" } },
    { tenant: "a", workflowId: "c", trusted: { intent: `i${joint}b` } },
  ]);
  const first = await runEach(world, tool, calls);
  const second = await runEach(world, tool, calls);

  expect(first).toEqual(calls.map(() => "EXECUTED"));
  expect(second).toEqual(calls.map(() => "REPLAYED"));
  world.assertEffects(15);
});

scenario(
  "a structured intent and its JSON text are different intents, and so are an id and a number",
  {},
  async (world) => {
    const tool = trustingTool(world);
    const calls = intents('{"order":"1"}', { order: "1" }, { order: 1 });

    expect(await runEach(world, tool, calls)).toEqual(["EXECUTED", "EXECUTED", "EXECUTED"]);
    expect(await runEach(world, tool, calls)).toEqual(["REPLAYED", "REPLAYED", "REPLAYED"]);
    world.assertEffects(3);
  },
);

scenario(
  "a new tool-call id, attempt number or time makes no new intent, wherever a host puts them",
  {},
  async (world) => {
    const sources: string[][] = [];
    const tool = world.tool({
      intent: (source: { args: Record<string, unknown>; trusted: object }) => {
        sources.push(Object.keys(source), Object.keys(source.args), Object.keys(source.trusted));
        return `refund:order-${String(source.args["orderId"])}`;
      },
    });
    const told: Told["told"][] = [];
    for (const attempt of [1, 2, 3]) {
      const volatile = { toolCallId: `message_${attempt}_1`, attempt, now: 1e12 + attempt };
      const context = volatile as Partial<RunContext>;
      told.push((await world.run({ tool, args: { ...refundArgs, ...volatile }, context })).told);
    }

    expect(told).toEqual(["EXECUTED", "REPLAYED", "REPLAYED"]);
    // Whoever writes the intent can't even see them.
    expect(new Set(sources.flat())).toEqual(
      new Set(["args", "trusted", ...Object.keys(refundArgs)]),
    );
    world.assertEffects(1);
  },
);

scenario(
  "a workflow that is resumed under new run ids, with its reply lost, is one intent in every scope",
  {},
  async (world) => {
    const told: Told["told"][] = [];
    for (const scope of ["business", "workflow", "step"]) {
      const name = `refund_per_${scope}`;
      world.provider.fault({ dropReplyAfterCommit: true });
      for (const runId of ["run-1", "run-2", "run-3"]) {
        const tool = world.tool({ name, operation: name, scope });
        const ids = { workflowId: "wf-7", stepId: "refund", runId };
        const context = ids as Partial<RunContext>;
        told.push((await world.run({ guard: await world.another(), tool, context })).told);
      }
    }

    const each = ["OUTCOME_UNKNOWN", "REPLAYED", "REPLAYED"];
    expect(told).toEqual([...each, ...each, ...each]);
    world.assertEffects(3);
  },
);

scenario(
  "two workflows with one business intent collide; with intents of their own workflow they don't",
  {},
  async (world) => {
    const told: Record<string, string[]> = {};
    for (const scope of ["business", "workflow", "step"]) {
      const name = `refund_per_${scope}`;
      const tool = world.tool({ name, operation: name, scope });
      told[scope] = await runEach(world, tool, [
        { workflowId: "wf-1", stepId: "s-1" },
        { workflowId: "wf-2", stepId: "s-1" },
        { workflowId: "wf-1", stepId: "s-2" },
        { workflowId: "wf-1", stepId: "s-1" },
      ]);
    }

    expect(told).toEqual({
      business: ["EXECUTED", "REPLAYED", "REPLAYED", "REPLAYED"],
      workflow: ["EXECUTED", "EXECUTED", "REPLAYED", "REPLAYED"],
      step: ["EXECUTED", "EXECUTED", "EXECUTED", "REPLAYED"],
    });
    world.assertEffects(1 + 2 + 3);
  },
);

scenario(
  "two tenants with the same intent have an effect, a row and a result each",
  {},
  async (world) => {
    const told = [];
    for (const tenant of ["t2", "t1", "t2", "t1"]) {
      told.push(await world.run({ guard: await world.another(), context: { tenant } }));
    }
    const rows = await world.rows();
    const values = told.map(({ outcome }) => outcome?.value as { id: string } | undefined);

    expect(told.map((one) => one.told)).toEqual(["EXECUTED", "EXECUTED", "REPLAYED", "REPLAYED"]);
    expect(rows.map(({ tenant }) => tenant).toSorted()).toEqual(["t1", "t2"]);
    expect(new Set(rows.map(({ key }) => key)).size).toBe(2);
    expect(values[0]?.id).not.toBe(values[1]?.id);
    expect([values[2], values[3]]).toEqual([values[0], values[1]]);
    world.assertEffects(2);
  },
);

scenario(
  "a tenant that claims an intent first neither blocks another tenant nor sees its effect",
  {},
  async (world) => {
    world.provider.fault({ dropReplyAfterCommit: true });
    const context = { tenant: "intruder" };
    const other = { ...refundArgs, amountMinor: 1 };
    const poisoned = await world.run({ context, args: other });
    const mine = await world.run();
    const again = await world.run({ context, args: other });
    const repeated = await world.run();

    expect([poisoned.told, mine.told]).toEqual(["OUTCOME_UNKNOWN", "EXECUTED"]);
    expect([again.told, repeated.told]).toEqual(["REPLAYED", "REPLAYED"]);
    expect(again.outcome?.value).toMatchObject({ amountMinor: 1 });
    expect(repeated.outcome?.value).toMatchObject({ amountMinor: 48_000 });
    world.assertEffects(2);
  },
);

scenario(
  "a second refund that is meant is made: two intents with the same arguments are two effects",
  {},
  async (world) => {
    const told: Told["told"][] = [];
    for (const ticketId of ["5521", "5522", "5521", "5522"]) {
      told.push((await world.run({ args: { ...refundArgs, ticketId } })).told);
    }

    expect(told).toEqual(["EXECUTED", "EXECUTED", "REPLAYED", "REPLAYED"]);
    const bodies = world.provider.arrivals().map(({ bodyText }) => bodyText);
    expect(bodies).toHaveLength(2);
    expect(new Set(bodies).size).toBe(1);
    expect(new Set(world.provider.ledger().map(({ key }) => key)).size).toBe(2);
    world.assertEffects(2);
  },
);
