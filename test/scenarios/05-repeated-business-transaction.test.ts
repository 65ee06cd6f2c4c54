/**
 * The fifth kind of "twice": two agents, two workflows, one business transaction. They share nothing
 * but the business scope.
 */
import { expect } from "vitest";
import { refundArgs, scenario } from "../support/world.ts";

scenario("two agents that take the same ticket make one refund", {}, async (world) => {
  world.provider.fault({ gate: "agent-1" });
  const first = world.run({ context: { workflowId: "agent-1-run-7" } });
  await world.provider.parked("agent-1");
  const other = await world.another();
  const context = { workflowId: "agent-2-run-3", onInProgress: { waitMs: 20_000 } };
  const second = world.run({ guard: other, context });
  world.provider.release("agent-1");

  expect((await first).told).toBe("EXECUTED");
  expect((await second).told).toBe("REPLAYED");
  expect((await second).outcome?.value).toEqual((await first).outcome?.value);
  world.assertEffects(1);
});

scenario(
  "two tools that do one business operation collide, and the second is told of the first",
  {},
  async (world) => {
    const byMail = world.tool({ name: "refund_by_mail" });
    const first = await world.run();
    const second = await world.run({ tool: byMail, guard: await world.another() });

    expect([first.told, second.told]).toEqual(["EXECUTED", "PAYLOAD_MISMATCH"]);
    expect(second.error).toMatchObject({ key: first.outcome?.key });
    world.assertEffects(1);
  },
);

scenario(
  "two equal refunds under two tickets are two effects, each done once",
  {},
  async (world) => {
    const told = [];
    for (const ticketId of ["5521", "5522", "5521", "5522"]) {
      told.push((await world.run({ args: { ...refundArgs, ticketId } })).told);
    }
    expect(told).toEqual(["EXECUTED", "EXECUTED", "REPLAYED", "REPLAYED"]);
    world.assertEffects(2);
  },
);

scenario(
  "two tenants never meet, also with the same intent and the same arguments",
  {},
  async (world) => {
    const told = [];
    for (const tenant of ["acme", "umbrella", "acme", "umbrella"]) {
      told.push(await world.run({ context: { tenant } }));
    }
    expect(told.map((one) => one.told)).toEqual(["EXECUTED", "EXECUTED", "REPLAYED", "REPLAYED"]);
    expect(told[2]?.outcome?.value).toEqual(told[0]?.outcome?.value);
    expect(told[3]?.outcome?.value).toEqual(told[1]?.outcome?.value);
    expect(told[0]?.outcome?.value).not.toEqual(told[1]?.outcome?.value);
    world.assertEffects(2);
  },
);

scenario("ids that would read alike when joined are two intents", {}, async (world) => {
  const tool = world.tool({
    intent: ({ trusted }: { trusted: { order: string; ticket: string } }) => trusted,
  });
  const told = [];
  for (const trusted of [
    { order: "a", ticket: "b:c" },
    { order: "a:b", ticket: "c" },
    { ticket: "b:c", order: "a" },
  ]) {
    told.push((await world.run({ tool, context: { trusted } })).told);
  }
  expect(told).toEqual(["EXECUTED", "EXECUTED", "REPLAYED"]);
  world.assertEffects(2);
});

scenario(
  "an intent of which a part is missing is refused before anything is recorded or sent",
  {},
  async (world) => {
    const tool = world.tool({
      intent: ({ trusted }: { trusted: Record<string, never> }) => trusted,
    });
    const told = [];
    for (const trusted of [{}, { order: null }, { order: "8812", ticket: null }, { order: " " }]) {
      told.push((await world.run({ tool, context: { trusted } })).told);
    }
    expect(told).toEqual(Array(4).fill("INTENT_INVALID"));
    expect((await world.run({ tool, context: { tenant: "" } })).told).toBe("INTENT_INVALID");
    expect(await world.rows()).toEqual([]);
    world.assertEffects(0);
  },
);
