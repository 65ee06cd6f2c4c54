/**
 * Failures that users of other stacks have reported of resumes, retries and approvals. Each is played
 * with a flow under the guard and ends with one effect per matter.
 */
import { expect } from "vitest";
import { type Flow, type FlowPoint, flow } from "../../src/index.ts";
import {
  type ScriptedModel,
  flowsOf,
  run,
  scriptedModel,
  ticket,
  workOn,
} from "../support/flow-world.ts";
import { type World, refundArgs, scenario } from "../support/world.ts";

/** Asks the model, and refunds. */
function refunding(world: World, model: ScriptedModel): Flow<typeof ticket> {
  return flow("refund-ticket", async (f) => {
    const decision = await f.decide("assess", model.ask);
    return f.act("refund", world.refund, decision);
  });
}

async function approve(flows: ReturnType<typeof flowsOf>): Promise<void> {
  const [approval] = await flows.openApprovals();
  if (approval === undefined) throw new Error("no approval is open");
  const { tenant, runId, name, version, fingerprint } = approval;
  const id = { tenant, runId, name, version, fingerprint };
  await flows.decide({ ...id, by: "lead@acme", why: "seen", decision: "approve" });
}

scenario(
  "a matter that is resumed under new run ids has one effect (case 12)",
  {},
  async (world) => {
    const model = scriptedModel();
    const refundTicket = refunding(world, model);
    const flows = flowsOf(world, [refundTicket]);
    const outputs: unknown[] = [];
    for (const runId of ["first", "orphan-1", "orphan-2"]) {
      const state = await flows.run(refundTicket, { tenant: "acme", runId }, ticket);
      outputs.push(state.status === "DONE" ? state.output : state.status);
    }
    expect(outputs).toEqual(Array.from({ length: 3 }, () => outputs[0]));
    expect(outputs[0]).toMatchObject({ operation: "refund" });
    // Each run asked anew, in other words.
    expect(model.prompts()).toBe(3);
    world.assertEffects(1);
  },
);

scenario(
  "an effect beside a question that waits is not run again by the resumes (case 76)",
  {},
  async (world) => {
    const asking = flow("asking", async (f) => {
      const [, refund] = await Promise.all([
        f.approve("ask-user", { question: "send it too?" }),
        f.act("refund", world.refund, refundArgs),
      ]);
      await f.approve("ask-again", { question: "sure?" });
      return refund;
    });
    const flows = flowsOf(world, [asking]);
    expect((await flows.run(asking, run, ticket)).status).toBe("WAITING");
    world.assertEffects(1);
    for (let resume = 0; resume < 3; resume += 1) {
      await flows.wake(run);
      await flowsOf(world, [asking]).workOnce();
    }
    for (let question = 0; question < 2; question += 1) {
      await approve(flows);
      await flowsOf(world, [asking]).workOnce();
    }
    expect(await flows.read(run)).toMatchObject({
      status: "DONE",
      output: { operation: "refund" },
    });
    await world.run();
    world.assertEffects(1);
  },
);

scenario("two resumes at once have one effect (case 78)", {}, async (world) => {
  const model = scriptedModel();
  const waiting = flow("waiting", async (f) => {
    const decision = await f.decide("assess", model.ask);
    await f.approve("manager", decision, { tool: world.refund });
    return f.act("refund", world.refund, decision);
  });
  const processes = [1, 2, 3].map(() => flowsOf(world, [waiting]));
  const [flows] = processes as [ReturnType<typeof flowsOf>];
  await flows.run(waiting, run, ticket);
  await approve(flows);
  await Promise.all([
    ...processes.map((process) => process.workOnce()),
    ...processes.map((process) => process.run(waiting, run, ticket)),
  ]);
  await workOn(world, flows);
  expect((await flows.read(run)).status).toBe("DONE");
  expect(model.prompts()).toBe(1);
  await world.run();
  world.assertEffects(1);
});

scenario(
  "a run that is retried as a whole repeats no tool that succeeded (case 79)",
  {},
  async (world) => {
    const results: unknown[] = [];
    let turns = 0;
    const answering = flow("answering", async (f) => {
      const result = await f.act("refund", world.refund, refundArgs);
      results.push(result);
      return f.decide("answer", () => {
        turns += 1;
        if (turns < 3) throw new Error("HTTP 500");
        return "done";
      });
    });
    const flows = flowsOf(world, [answering]);
    await flows.start(answering, run, ticket);
    await workOn(world, flows, 4);
    expect((await flows.read(run)).status).toBe("DONE");
    expect(results).toHaveLength(3);
    expect(results[2]).toEqual(results[0]);
    // An orchestrator without a log calls the tool itself once more.
    const again = await world.run();
    expect([again.told, again.outcome?.value]).toEqual(["REPLAYED", results[0]]);
    world.assertEffects(1);
  },
);

scenario(
  "a step under way is not dispatched again by a wake-up, nor doubled past its lease (case 80)",
  {},
  async (world) => {
    const model = scriptedModel();
    const refundTicket = refunding(world, model);
    const [one, other] = [flowsOf(world, [refundTicket]), flowsOf(world, [refundTicket])];
    world.provider.fault({ gate: "slow" });
    const first = one.run(refundTicket, run, ticket);
    first.catch(() => {});
    await world.provider.parked("slow");
    await other.wake(run);
    expect(await other.workOnce()).toBe(0);
    // The first worker seems dead now: another one takes the run up at the same step and attempt.
    world.clock.advance(61_000);
    expect(await other.workOnce()).toBe(1);
    expect((await other.read(run)).status).toBe("WAITING");
    world.provider.release("slow");
    await first;
    for (let pass = 0; pass < 4; pass += 1) await workOn(world, other);
    expect((await other.read(run)).status).toBe("DONE");
    expect(model.prompts()).toBe(1);
    world.assertEffects(1);
  },
);

scenario(
  "two tenants with one run id share neither answer nor effect (case 81)",
  {},
  async (world) => {
    const model = scriptedModel();
    const refundTicket = refunding(world, model);
    const flows = flowsOf(world, [refundTicket]);
    const tenants = ["acme", "evil-corp"];
    for (const tenant of [...tenants, ...tenants]) {
      await flows.run(refundTicket, { tenant, runId: run.runId }, ticket);
    }
    expect(model.prompts()).toBe(2);
    world.assertEffects(2);
    const rows = await world.rows();
    expect(rows.map(({ tenant }) => tenant).toSorted()).toEqual(tenants);
    // The same matter under other runs: still one effect for each tenant.
    for (const tenant of tenants) {
      await flows.run(refundTicket, { tenant, runId: "again" }, ticket);
    }
    world.assertEffects(2);
  },
);

scenario(
  "a batch of which one was done when the process ended is done once each (case 91)",
  {},
  async (world) => {
    const orders = ["5521", "5522", "5523"];
    const batch = flow("batch", (f) =>
      Promise.all(
        orders.map((ticketId) =>
          f.act(`refund-${ticketId}`, world.refund, { ...refundArgs, ticketId }),
        ),
      ),
    );
    // The process ends after the first effect, before it is recorded and before the others are sent.
    // It has ended when each step stands still: until then its statements hold the run's row.
    const standing = new Set<string | undefined>();
    let die = (): void => {};
    const died = new Promise<void>((resolve) => (die = resolve));
    const onPoint = ({ name, step }: FlowPoint): Promise<void> | undefined => {
      const last = step === "refund-5521" ? "step-acted" : "step-started";
      if (name !== last) return undefined;
      if (standing.add(step).size === orders.length) die();
      return new Promise<void>(() => {});
    };
    flowsOf(world, [batch], { onPoint })
      .run(batch, run, ticket)
      .catch(() => {});
    await died;
    world.assertEffects(1);
    const flows = flowsOf(world, [batch]);
    for (let pass = 0; pass < 4; pass += 1) {
      world.advance(61_000);
      await flows.workOnce();
    }
    expect((await flows.read(run)).status).toBe("DONE");
    world.assertEffects(3);
    const rows = await world.rows();
    expect(rows.map(({ status }) => status)).toEqual(["DONE", "DONE", "DONE"]);
  },
);
