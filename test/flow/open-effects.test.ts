/**
 * A run's end hides no doubt: an act whose outcome is not known is named by the run's error, settled by
 * the sweeper, and told as it stands then.
 */
import { expect } from "vitest";
import { hours, flow, type FlowContext } from "../../src/index.ts";
import { flowsOf, run } from "../support/flow-world.ts";
import { stopAt } from "../support/store-faults.ts";
import { type World, refundArgs, scenario } from "../support/world.ts";

/** A flow that refunds, and ends as soon as `until` says so. */
function endingFlow(world: World, until: Promise<unknown>) {
  return flow("ending", async (f: FlowContext) => {
    const failing = until.then(() => f.fail("the shop has closed"));
    await Promise.all([f.act("refund", world.refund, refundArgs), failing]);
  });
}

scenario(
  "an act in doubt is named where the run fails, and told as settled after the sweep",
  {},
  async (world) => {
    world.provider.fault({ dropReplyAfterCommit: true });
    const unknown = stopAt("after-settle");
    const guard = await world.another({ onPoint: unknown.onPoint });
    const ending = endingFlow(world, unknown.reached(new Promise(() => {})));
    const flows = flowsOf(world, [ending], { guard });
    const ended = await flows.run(ending, run, {});
    const { key } = await world.row();
    const doubt = { step: "refund", key, status: "UNKNOWN" } as const;
    expect(ended).toMatchObject({ status: "FAILED", error: { inDoubt: [doubt] } });
    expect(ended.status === "FAILED" && ended.error.message).toMatch(
      new RegExp(`^the shop has closed .*may exist: "refund" \\(UNKNOWN, key ${key}\\)`),
    );
    expect(await flows.openEffects(run)).toEqual([{ ...doubt, inDoubt: true }]);

    unknown.release();
    world.advance(hours(1));
    const sweeper = await world.another({ tools: [world.refund] });
    expect((await sweeper.sweep()).map(({ outcome }) => outcome)).toEqual(["DONE"]);
    expect(await flows.openEffects(run)).toEqual([{ ...doubt, status: "DONE", inDoubt: false }]);
    expect(await flows.read(run)).toMatchObject({ status: "FAILED", error: { inDoubt: [doubt] } });
    expect(await flows.retry(run)).toMatchObject({ status: "WAITING", run: { error: null } });
    world.assertEffects(1);
  },
);

scenario("an act under way is in doubt where the run fails", {}, async (world) => {
  world.provider.fault({ gate: "busy" });
  const ending = endingFlow(world, world.provider.parked("busy"));
  const flows = flowsOf(world, [ending]);
  const ended = await flows.run(ending, run, {});
  expect(ended).toMatchObject({
    status: "FAILED",
    error: { inDoubt: [{ step: "refund", status: "IN_PROGRESS" }] },
  });
  world.provider.release("busy");
  await expect.poll(async () => (await world.row()).status).toBe("DONE");
  expect(await flows.openEffects(run)).toMatchObject([{ status: "DONE", inDoubt: false }]);
  world.assertEffects(1);
});

scenario("a run that leaves nothing in doubt names nothing", {}, async (world) => {
  const ending = flow("ending", async (f) => {
    await f.act("refund", world.refund, refundArgs);
    f.fail("the shop has closed");
  });
  const flows = flowsOf(world, [ending]);
  const ended = await flows.run(ending, run, {});
  expect(ended.status === "FAILED" && ended.error).toEqual({
    message: "the shop has closed",
    name: "NeverTwiceError",
    code: "RUN_FAILED",
  });
  expect(await flows.openEffects(run)).toEqual([]);
  expect((await world.run()).told).toBe("REPLAYED");
  world.assertEffects(1);
});
