/**
 * A flow as a Temporal workflow: its activities run in Temporal's `MockActivityEnvironment`, are run
 * again after the effect, and the history is replayed. One prompt, one refund, one event. The
 * workflow code is bundled by Temporal's bundler, which refuses what its sandbox can't run.
 */
import { fileURLToPath } from "node:url";
import { bundleWorkflowCode } from "@temporalio/worker";
import { expect, it } from "vitest";
import { createFlowActivities, decideInTemporal } from "../../../src/edges/engines/temporal.ts";
import { runKeyOf, temporalFlow, toolNamed } from "../../../src/edges/engines/temporal-workflow.ts";
import { describeStores } from "../../support/stores.ts";
import {
  askingFlow,
  dyingAfterEffect,
  givenUpFlow,
  ledgerOf,
  noTo,
  openEngineWorld,
  refundFlow,
  sagaFlow,
  ticket,
  yesTo,
} from "./engine-world.ts";
import { openHistory, silentLogger } from "./temporal-history.ts";

const activityOptions = { activityOptions: { startToCloseTimeout: 1000 } };
const id = { tenant: "acme", runId: "ticket-5521" };

describeStores("a flow on Temporal", (suite) => {
  const play = async (passThrough: boolean) => {
    const world = await openEngineWorld((await suite.open()).store, passThrough);
    const { guard, died } = dyingAfterEffect(world.guard, 2);
    const { store, refund, model } = world;
    const activities = { ...createFlowActivities({ store, guard, tools: [refund] }), model };
    const history = openHistory(runKeyOf(id), activities);
    const attempt = () => {
      const sdk = history.attempt();
      const asked = sdk.proxyActivities<{ model: typeof model }>({ startToCloseTimeout: 1000 });
      const refunding = refundFlow({ model: () => asked.model() }, toolNamed(refund.name));
      return temporalFlow(sdk, refunding, activityOptions)(ticket);
    };
    const first = attempt();
    const approval = await world.approvalOf(id.runId);
    expect(world.provider.ledger()).toHaveLength(0);
    const client = {
      workflow: { getHandle: () => ({ signal: async () => history.signal("manager") }) },
    };
    await decideInTemporal(client as never, store, { ...id, ...yesTo(approval) });
    const ended = await first;
    const replayed = await attempt();
    return { world, ended, replayed, died, events: history.events };
  };

  it("prompts once and refunds once, over two lost answers and a replay", async () => {
    const { world, ended, replayed, died, events } = await play(false);
    expect(ended.by).toBe("lead@acme");
    expect(replayed).toEqual(ended);
    expect(died()).toBe(2);
    expect(world.prompts()).toBe(1);
    expect(world.provider.ledger()).toHaveLength(1);
    expect(await world.eventIds()).toEqual([ended.eventId]);
    expect(events.map(({ name }) => name)).toEqual([
      "model",
      "nevertwicePerform",
      "condition",
      "nevertwicePerform",
      "nevertwicePerform",
      "sleep",
      "nevertwicePerform",
      "nevertwicePerform",
    ]);
  });

  it("would refund three times without the guard", async () => {
    const { world } = await play(true);
    expect(world.provider.ledger()).toHaveLength(3);
  });

  it("undoes what there is when a refund is refused, once, over two lost answers and a replay", async () => {
    const world = await openEngineWorld((await suite.open()).store);
    const { guard, died } = dyingAfterEffect(world.guard, 2, "take_back");
    const { store, refund } = world;
    const history = openHistory(
      runKeyOf(id),
      createFlowActivities({ store, guard, tools: [refund] }) as never,
    );
    const saga = sagaFlow("saga", toolNamed(refund.name), "one by one");
    const attempt = () => temporalFlow(history.attempt(), saga, activityOptions)(ticket);
    world.provider.fault({ pass: true }, { decline: true });
    const ended = await attempt();
    expect(ended).toEqual({ code: "OPERATION_FAILED", undone: ["first"] });
    expect(died()).toBe(2);
    expect(await attempt()).toEqual(ended);
    expect(ledgerOf(world)).toEqual(["refund a", "take-back a"]);
  });

  it("waits for a refund in doubt before it undoes it", async () => {
    const world = await openEngineWorld((await suite.open()).store);
    const { store, refund, guard } = world;
    const history = openHistory(
      runKeyOf(id),
      createFlowActivities({ store, guard, tools: [refund] }) as never,
    );
    const saga = sagaFlow("saga", toolNamed(refund.name), "side by side");
    world.provider.fault({ dropReplyAfterCommit: true }, { decline: true });
    const ended = await temporalFlow(history.attempt(), saga, activityOptions)(ticket);
    expect(ended).toEqual({ code: "OPERATION_FAILED", undone: ["first"] });
    expect(ledgerOf(world)).toEqual(["refund a", "take-back a"]);
  });

  it("finds out what an act did that the engine gave up, and undoes that", async () => {
    const world = await openEngineWorld((await suite.open()).store);
    // More often than the engine tries again.
    const { guard, died } = dyingAfterEffect(world.guard, 10, "issue_refund");
    const { store, refund } = world;
    const history = openHistory(
      runKeyOf(id),
      createFlowActivities({ store, guard, tools: [refund] }) as never,
    );
    const givenUp = givenUpFlow("given-up", toolNamed(refund.name));
    const undone = await temporalFlow(history.attempt(), givenUp, activityOptions)(ticket);
    expect(undone).toEqual(["refund"]);
    expect(died()).toBe(10);
    expect(ledgerOf(world)).toEqual(["refund a", "take-back a"]);
  });

  it.each(["APPROVAL_DECLINED", "APPROVAL_EXPIRED"])("refunds nothing after %s", async (code) => {
    const world = await openEngineWorld((await suite.open()).store);
    const { store, refund, guard } = world;
    const history = openHistory(
      runKeyOf(id),
      createFlowActivities({ store, guard, tools: [refund] }) as never,
    );
    const waitMs = code === "APPROVAL_EXPIRED" ? 300 : 60_000;
    const asking = askingFlow("asking", toolNamed(refund.name), waitMs);
    const running = temporalFlow(history.attempt(), asking, activityOptions)(ticket);
    if (code === "APPROVAL_DECLINED") {
      const approval = await world.approvalOf(id.runId);
      const client = {
        workflow: { getHandle: () => ({ signal: async () => history.signal("manager") }) },
      };
      await decideInTemporal(client as never, store, { ...id, ...noTo(approval) });
    }
    expect(await running).toEqual({ code });
    expect(ledgerOf(world)).toEqual([]);
  });
});

it("workflow code that uses the flow brings nothing that Temporal's sandbox refuses", async () => {
  const workflowsPath = fileURLToPath(new URL("temporal-flow.ts", import.meta.url));
  const { code } = await bundleWorkflowCode({
    workflowsPath,
    logger: silentLogger,
    webpackConfigHook: (config) => ({
      ...config,
      resolve: { ...config.resolve, extensionAlias: { ".js": [".ts", ".js"] } },
    }),
  });
  expect(code).toContain("nevertwicePerform");
  expect(code).not.toContain("better-sqlite3");
});
