/**
 * The fourth kind of "twice": a broker or a webhook delivers again, and a new run of a new workflow
 * starts with the same business to do.
 */
import { expect } from "vitest";
import { scenario } from "../support/world.ts";

scenario(
  "a redelivered event that starts a new workflow finds what the first one did",
  {},
  async (world) => {
    const told = [];
    for (const delivery of [1, 2, 3]) {
      const context = { workflowId: `refund-flow-${delivery}`, stepId: "issue", trusted: {} };
      told.push(await world.run({ guard: await world.another(), context }));
    }
    expect(told.map((one) => one.told)).toEqual(["EXECUTED", "REPLAYED", "REPLAYED"]);
    const [first, second] = told;
    expect(second?.outcome?.key).toBe(first?.outcome?.key);
    expect(second?.outcome?.value).toEqual(first?.outcome?.value);
    world.assertEffects(1);
  },
);

scenario("two deliveries at once start two runs, and one of them does it", {}, async (world) => {
  world.provider.fault({ gate: "first-run" });
  const first = world.run({ context: { workflowId: "delivery-1" } });
  await world.provider.parked("first-run");
  const second = await world.run({
    guard: await world.another(),
    context: { workflowId: "delivery-2" },
  });
  world.provider.release("first-run");

  expect([(await first).told, second.told]).toEqual(["EXECUTED", "IN_PROGRESS"]);
  expect((await world.run({ context: { workflowId: "delivery-3" } })).told).toBe("REPLAYED");
  world.assertEffects(1);
});

scenario(
  "a delivery after a crash of the first run reconciles the first run's call",
  {},
  async (world) => {
    world.provider.fault({ dropReplyAfterCommit: true });
    const first = await world.run({ context: { workflowId: "delivery-1" } });
    world.advance(3_600_000);
    const second = await world.run({ context: { workflowId: "delivery-2" } });

    expect([first.told, second.told]).toEqual(["OUTCOME_UNKNOWN", "REPLAYED"]);
    expect(world.provider.arrivals()).toHaveLength(1);
    world.assertEffects(1);
  },
);

scenario(
  "where the workflow is part of the intent, two workflows are two effects and each is done once",
  {},
  async (world) => {
    const tool = world.tool({ scope: "workflow" });
    const told = [];
    for (const workflowId of ["flow-1", "flow-1", "flow-2", "flow-2"]) {
      told.push((await world.run({ tool, context: { workflowId } })).told);
    }
    expect(told).toEqual(["EXECUTED", "REPLAYED", "EXECUTED", "REPLAYED"]);
    world.assertEffects(2);
  },
);

scenario(
  "where the step is part of the intent, a step of a workflow is done once in any run of it",
  {},
  async (world) => {
    const tool = world.tool({ scope: "step" });
    const told = [];
    for (const stepId of ["first-half", "first-half", "second-half", "second-half"]) {
      told.push((await world.run({ tool, context: { workflowId: "flow-1", stepId } })).told);
    }
    expect(told).toEqual(["EXECUTED", "REPLAYED", "EXECUTED", "REPLAYED"]);
    world.assertEffects(2);
  },
);
