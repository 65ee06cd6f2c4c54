/**
 * A flow records each decision before anything that depends on it, and goes on from its log: one
 * prompt and one effect, however often the process ends in between.
 */
import { expect, it } from "vitest";
import { createFlows, flow } from "../../src/index.ts";
import { describeStores } from "../support/stores.ts";
import { codeOf, flowsOf, run, scriptedModel, ticket, workOn } from "../support/flow-world.ts";
import { scenario } from "../support/world.ts";

scenario(
  "a run decides, acts and emits once, and a second start is the same run",
  {},
  async (world) => {
    const model = scriptedModel();
    const refundTicket = flow("refund-ticket", async (f) => {
      const decision = await f.decide("assess", model.ask);
      const refund = await f.act("refund", world.refund, decision);
      const eventId = await f.emit("refund.issued", refund, { subject: "order-8812" });
      return { eventId };
    });
    const flows = flowsOf(world, [refundTicket]);
    const first = await flows.run(refundTicket, run, ticket);
    const second = await flowsOf(world, [refundTicket]).run(refundTicket, run, ticket);

    expect(first.status === "FAILED" ? first.error : first.status).toBe("DONE");
    expect(second).toMatchObject({ status: "DONE", output: { eventId: expect.any(String) } });
    expect(model.prompts()).toBe(1);
    world.assertEffects(1);
    const events = await world.opened.store.outbox.list({
      tenant: "acme",
      status: "PENDING",
      beforePosition: null,
      limit: 10,
    });
    expect(events.map(({ type, subject }) => [type, subject])).toEqual([
      ["refund.issued", "order-8812"],
    ]);
    const steps = await world.opened.store.runs.listSteps(run);
    expect(steps.map(({ name, kind, status }) => [name, kind, status])).toEqual([
      ["assess", "decide", "DONE"],
      ["refund", "act", "DONE"],
      ["refund.issued", "emit", "DONE"],
    ]);
    // The guard is what makes it one effect for another run of the same matter.
    const other = { tenant: "acme", runId: "ticket-5521-again" };
    await flows.run(refundTicket, other, ticket);
    world.assertEffects(1);
  },
);

const points = [
  "run-claimed",
  "before-step",
  "step-asked",
  "step-started",
  "step-acted",
  "step-recorded",
  "before-run-settle",
  "run-settled",
] as const;

for (const point of points) {
  scenario(
    `a pass that breaks off at ${point} is taken up by another process, with one effect`,
    {},
    async (world) => {
      const model = scriptedModel();
      const refundTicket = flow("refund-ticket", async (f) => {
        const decision = await f.decide("assess", model.ask);
        await f.act("refund", world.refund, decision);
        await f.emit("refund.issued", decision);
      });
      // Each time the point is reached the process "ends": it writes nothing more.
      let deaths = 0;
      let die = (): void => {};
      const onPoint = ({ name }: { name: string }): Promise<void> | undefined => {
        if (name !== point || deaths >= 4) return undefined;
        deaths += 1;
        die();
        return new Promise<void>(() => {});
      };
      await flowsOf(world, [refundTicket]).start(refundTicket, run, ticket);
      for (let process = 0; process < 8; process += 1) {
        const died = new Promise<void>((resolve) => {
          die = resolve;
        });
        await Promise.race([flowsOf(world, [refundTicket], { onPoint }).workOnce(), died]);
        world.advance(61_000);
      }
      expect((await flowsOf(world, [refundTicket]).read(run)).status).toBe("DONE");
      expect(deaths).toBeGreaterThan(0);
      if (!["step-asked"].includes(point)) expect(model.prompts()).toBe(1);
      world.assertEffects(1);
      const events = await world.opened.store.outbox.list({
        tenant: null,
        status: null,
        beforePosition: null,
        limit: 10,
      });
      expect(events).toHaveLength(1);
      const again = { tenant: "acme", runId: "again" };
      await flowsOf(world, [refundTicket]).run(refundTicket, again, ticket);
      world.assertEffects(1);
    },
  );
}

scenario(
  "an approval is waited for across processes, binds to the call, and is decided once",
  {},
  async (world) => {
    const model = scriptedModel();
    const refundTicket = flow("refund-ticket", async (f) => {
      const decision = await f.decide("assess", model.ask);
      const { by } = await f.approve("manager", decision, { tool: world.refund });
      await f.act("refund", world.refund, decision);
      return by;
    });
    const waiting = await flowsOf(world, [refundTicket]).run(refundTicket, run, ticket);
    expect(waiting).toMatchObject({ status: "WAITING", run: { waitsFor: "manager: approval" } });
    world.assertEffects(0);
    world.advance(3 * 86_400_000);
    const flows = flowsOf(world, [refundTicket]);
    expect(await flows.workOnce()).toBe(0);
    const [approval] = await flows.openApprovals();
    if (approval === undefined) throw new Error("no approval is open");
    const { name, version, fingerprint } = approval;
    const decision = {
      ...run,
      name,
      version,
      fingerprint,
      by: "lead@acme",
      why: "the photo shows it",
    };
    const decided = await Promise.all([
      codeOf(flows.decide({ ...decision, decision: "approve" })),
      codeOf(flows.decide({ ...decision, decision: "decline" })),
      codeOf(flows.decide({ ...decision, decision: "approve", by: "other@acme" })),
    ]);
    expect(decided.toSorted()).toEqual(["APPROVAL_CONFLICT", "APPROVAL_CONFLICT", "nothing"]);
    await workOn(world, flows, 2);
    const state = await flows.read(run);
    const approved = decided[1] === "nothing" ? "FAILED" : "DONE";
    expect(state.status).toBe(approved);
    expect(model.prompts()).toBe(1);
    world.assertEffects(approved === "DONE" ? 1 : 0);
    // What makes the scenario fail without a guard.
    await flows.run(refundTicket, { tenant: "acme", runId: "second" }, ticket);
    const [second] = await flows.openApprovals();
    expect(second?.key).toBe(approval.key);
  },
);

describeStores("a changed flow", (suite) => {
  it.each([
    ["swapped", ["b", "a"]],
    ["removed", ["b"]],
    ["inserted", ["a", "c", "b"]],
  ])("is noticed when a step was %s", async (_, names) => {
    const opened = await suite.open();
    let steps = ["a", "b"];
    const made = flow("steps", async (f) => {
      for (const name of steps) await f.decide(name, () => name);
      await f.approve("end", {});
    });
    const flows = createFlows({ store: opened.store, guard: undefined as never, flows: [made] });
    await flows.run(made, run, {});
    steps = names;
    await flows.wake(run);
    await flows.workOnce();
    const state = await flows.read(run);
    expect(state).toMatchObject({ status: "FAILED", error: { code: "FLOW_CHANGED" } });
    steps = ["a", "b"];
    await flows.retry(run);
    await flows.workOnce();
    expect((await flows.read(run)).status).toBe("WAITING");
  });

  it("steps that run side by side may end in any order", async () => {
    const opened = await suite.open();
    const made = flow("parallel", async (f) => {
      const chain = async (name: string, others: number): Promise<void> => {
        for (let at = 0; at <= others; at += 1) await f.decide(`${name}${at}`, () => at);
      };
      await Promise.all([chain("a", 3), chain("b", 1), f.sleep("pause", 50), chain("c", 5)]);
      await f.sleep("again", 50);
      return "end";
    });
    const flows = createFlows({ store: opened.store, guard: undefined as never, flows: [made] });
    await flows.start(made, run, {});
    await expect
      .poll(async () => {
        await flows.workOnce();
        return flows.read(run);
      })
      .toMatchObject({ status: "DONE", output: "end" });
  });
});
