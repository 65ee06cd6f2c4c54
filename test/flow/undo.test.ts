/**
 * `f.compensate`: what a run did is undone in reverse order, proved effects only, each once, also when
 * the process ends in the middle of it. Judged by the provider's ledger.
 */
import { expect } from "vitest";
import { z } from "zod";
import { type FlowContext, type FlowPoint, type Tool, defineTool, flow } from "../../src/index.ts";
import type { FaultStep } from "../../src/testing/fake-provider/faults.ts";
import { codeOf, flowsOf, run, workOn } from "../support/flow-world.ts";
import {
  type RefundContract,
  type World,
  executeRefund,
  keyedContract,
  refundArgs,
  refundLookUp,
  scenario,
} from "../support/world.ts";

const argsOf = (orderId: string) => ({ ...refundArgs, orderId });

/** Tools for the orders a, b, c …, each with an undo, and what the ledger holds in its order. */
function workshop(world: World) {
  const { client, provider } = world;
  const undo = defineTool({
    name: "take_back",
    kind: "non-idempotent",
    arguments: z.object({ orderId: z.string() }),
    intent: ({ args }) => `take-back:${args.orderId}`,
    businessArguments: ["orderId"],
    contract: {
      ...keyedContract,
      lookUp: refundLookUp(client),
      classify: (error: unknown) =>
        (error as { status?: number }).status === 402 ? "definitive" : "unknown",
    } as never,
    execute: ({ orderId }, { key, wireKey, signal, beforeWrite }) => {
      const request = { operation: "undo", body: { orderId }, key: wireKey, tag: key };
      return client.createEffect({ ...request, signal, beforeWrite });
    },
  });
  const compensation = {
    tool: undo,
    arguments: (effect: { arguments: { orderId: string } }) => ({
      orderId: effect.arguments.orderId,
    }),
  };
  const toolOf = (
    orderId: string,
    parts: { contract?: Partial<RefundContract>; [part: string]: unknown } = {},
  ): Tool => world.tool({ name: `refund_${orderId}`, operation: orderId, compensation, ...parts });
  const ledger = () =>
    provider.ledger().map(({ operation, body }) => `${operation} ${body["orderId"] as string}`);
  return { toolOf, ledger };
}

scenario(
  "effects are undone in reverse order, and a second run finds each undone already",
  {},
  async (world) => {
    const { toolOf, ledger } = workshop(world);
    const tools = ["a", "b", "c"].map((orderId) => toolOf(orderId));
    const left = world.tool({ name: "refund_left", operation: "left" });
    const undoing = flow("undoing", async (f) => {
      for (const [index, tool] of [...tools.slice(0, 2), left, ...tools.slice(2)].entries()) {
        await f.act(`step ${index}`, tool, argsOf("abxc"[index] ?? ""));
      }
      return f.compensate("undo");
    });
    const flows = flowsOf(world, [undoing]);
    const all = ["refund a", "refund b", "refund x", "refund c", "undo c", "undo b", "undo a"];
    expect(await flows.run(undoing, run, {})).toMatchObject({
      status: "DONE",
      output: ["step 3", "step 1", "step 0"],
    });
    expect(ledger()).toEqual(all);
    // Another run of the same matter: the same effects, so the same undos.
    await flows.run(undoing, { ...run, runId: "again" }, {});
    expect(ledger()).toEqual(all);
  },
);

scenario(
  "what the provider refused is not undone, what came before it is, and the run tells why it failed",
  {},
  async (world) => {
    const { toolOf, ledger } = workshop(world);
    const [a, b] = [toolOf("a"), toolOf("b")];
    const told: string[] = [];
    const undoing = flow("undoing", async (f) => {
      await f.act("first", a, argsOf("a"));
      try {
        await f.act("second", b, argsOf("b"));
      } catch (error) {
        told.push(`undone: ${(await f.compensate("undo")).join()}`);
        throw error;
      }
    });
    world.provider.fault({ pass: true }, { decline: true });
    const flows = flowsOf(world, [undoing]);
    expect(await flows.run(undoing, run, {})).toMatchObject({
      status: "FAILED",
      error: { code: "OPERATION_FAILED" },
    });
    expect(told).toEqual(["undone: first"]);
    expect(ledger()).toEqual(["refund a", "undo a"]);
    await flows.run(undoing, { ...run, runId: "again" }, {});
    expect(ledger()).toEqual(["refund a", "undo a"]);
  },
);

/** Both acts at once; the second one is sent when the first has arrived, and is refused. */
async function openPair(world: World, fault: FaultStep) {
  const { toolOf, ledger } = workshop(world);
  const send = executeRefund(world.client);
  const a = toolOf("a");
  const b = toolOf("b", {
    execute: async (args: object, call: Parameters<typeof send>[1]) => {
      await expect.poll(() => world.provider.arrivals().length, { interval: 5 }).toBe(1);
      return send(args, call);
    },
  });
  const undoing = flow("undoing", async (f: FlowContext) => {
    try {
      await Promise.all([f.act("a", a, argsOf("a")), f.act("b", b, argsOf("b"))]);
      return ["not undone"];
    } catch {
      return f.compensate("undo");
    }
  });
  world.provider.fault(fault, { decline: true });
  const flows = flowsOf(world, [undoing]);
  const state = await flows.run(undoing, run, {});
  return { ledger, flows, undoing, state };
}

scenario("an undo in doubt is named where the run fails", {}, async (world) => {
  const { toolOf, ledger } = workshop(world);
  const a = toolOf("a");
  const sent = (): Promise<unknown> => {
    world.provider.fault({ gate: "busy" });
    return world.provider.parked("busy");
  };
  const endingWhen = (until: () => Promise<unknown>) =>
    flow("ending", async (f: FlowContext) => {
      await f.act("a", a, argsOf("a"));
      await Promise.all([f.compensate("undo"), until().then(() => f.fail("the shop has closed"))]);
    });
  const ending = endingWhen(sent);
  const flows = flowsOf(world, [ending]);
  const ended = await flows.run(ending, run, {});
  const doubt = { step: "undo", undoes: "a", key: expect.any(String), status: "IN_PROGRESS" };
  expect(ended).toMatchObject({ status: "FAILED", error: { inDoubt: [doubt] } });
  expect(ended.status === "FAILED" && ended.error.message).toMatch(
    /^the shop has closed .*may exist: "undo: a" \(IN_PROGRESS, key /,
  );
  expect(await flows.openEffects(run)).toEqual([{ ...doubt, inDoubt: true }]);

  // Another pass ends before it comes to the undo: the doubt stays.
  await flows.retry(run);
  let start = (): void => {};
  const started = new Promise<void>((resolve) => (start = resolve));
  const onPoint = ({ name, step }: FlowPoint): Promise<void> | undefined => {
    if (name !== "step-started" || step !== "undo") return undefined;
    start();
    return new Promise(() => {});
  };
  const early = endingWhen(() => started);
  const again = await flowsOf(world, [early], { onPoint }).run(early, run, {});
  expect(again).toMatchObject({ status: "FAILED", error: { inDoubt: [doubt] } });

  world.provider.release("busy");
  await expect
    .poll(() => flows.openEffects(run))
    .toEqual([{ ...doubt, status: "DONE", inDoubt: false }]);
  expect(ledger()).toEqual(["refund a", "undo a"]);
});

scenario("an effect in doubt is not undone before it is reconciled", {}, async (world) => {
  const { ledger, flows, undoing, state } = await openPair(world, { dropReplyAfterCommit: true });
  expect(state).toMatchObject({
    status: "WAITING",
    run: { waitsFor: expect.stringContaining("undo: INTENT_UNSETTLED") },
  });
  expect(ledger()).toEqual(["refund a"]);
  await workOn(world, flows, 4);
  expect(await flows.read(run)).toMatchObject({ status: "DONE", output: ["a"] });
  expect(ledger()).toEqual(["refund a", "undo a"]);
  // What makes the scenario fail without a guard.
  await flows.run(undoing, { ...run, runId: "again" }, {});
  expect(ledger()).toEqual(["refund a", "undo a"]);
});

scenario(
  "an effect that a person has to decide about is undone when it happened, and only then",
  { contract: { mode: "strict" }, lookUp: false },
  async (world) => {
    for (const decision of ["happened", "did-not-happen"] as const) {
      const before = world.provider.ledger().length;
      const { toolOf, ledger } = workshop(world);
      const tool = toolOf(decision, { contract: { lookUp: undefined, key: undefined } as never });
      const refused = toolOf(`${decision}-refused`);
      const undoing = flow(decision, async (f: FlowContext) => {
        const acting = f.act("act", tool, argsOf(decision));
        acting.catch(() => {});
        await f.decide("when it is sent", async () => {
          await expect.poll(() => world.provider.ledger().length, { interval: 5 }).toBe(before + 1);
        });
        const refusing = f.act("refused", refused, argsOf("refused"));
        try {
          await Promise.all([acting, refusing]);
        } catch {
          return f.compensate("undo");
        }
        return ["not undone"];
      });
      world.provider.fault({ dropReplyAfterCommit: true }, { decline: true });
      const flows = flowsOf(world, [undoing]);
      const id = { ...run, runId: decision };
      await flows.run(undoing, id, {});
      await workOn(world, flows, 3);
      expect((await flows.read(id)).status).toBe("WAITING");
      expect(ledger()).not.toContain(`undo ${decision}`);
      const found = (await world.rows()).find(({ tool: name }) => name === tool.name);
      if (found === undefined) throw new Error("nothing was claimed");
      expect(found.status).toBe("NEEDS_REVIEW");
      const { tenant, key, version } = found;
      const by = { by: "lead@acme", why: "looked at the provider's page" };
      await world.guard.resolve({ tenant, key, version, decision, ...by });
      await workOn(world, flows, 5);
      const undone = decision === "happened" ? ["act"] : [];
      expect(await flows.read(id)).toMatchObject({ status: "DONE", output: undone });
      expect(ledger().slice(before)).toEqual([
        `refund ${decision}`,
        ...undone.map(() => `undo ${decision}`),
      ]);
    }
  },
);

scenario("an undo of unknown outcome is reconciled, and stays one", {}, async (world) => {
  const { toolOf, ledger } = workshop(world);
  const [a, b] = [toolOf("a"), toolOf("b")];
  const undoing = flow("undoing", async (f) => {
    await f.act("first", a, argsOf("a"));
    await f.act("second", b, argsOf("b"));
    return f.compensate("undo");
  });
  world.provider.fault({ pass: true }, { pass: true }, { dropReplyAfterCommit: true });
  const flows = flowsOf(world, [undoing]);
  expect(await flows.run(undoing, run, {})).toMatchObject({ status: "WAITING" });
  // The order is kept: what comes after the doubt waits for it.
  expect(ledger()).toEqual(["refund a", "refund b", "undo b"]);
  await workOn(world, flows, 3);
  expect(await flows.read(run)).toMatchObject({ status: "DONE", output: ["second", "first"] });
  expect(ledger()).toEqual(["refund a", "refund b", "undo b", "undo a"]);
  await flows.run(undoing, { ...run, runId: "again" }, {});
  expect(ledger()).toHaveLength(4);
});

scenario(
  "an undo that is refused ends the run, which tells what was undone and what wasn't",
  {},
  async (world) => {
    const { toolOf, ledger } = workshop(world);
    const tools = ["a", "b", "c"].map((orderId) => toolOf(orderId));
    const undoing = flow("undoing", async (f) => {
      for (const [index, tool] of tools.entries()) {
        await f.act(`step ${index}`, tool, argsOf("abc"[index] ?? ""));
      }
      await f.compensate("undo");
    });
    const pass = { pass: true } as const;
    world.provider.fault(pass, pass, pass, pass, { decline: true });
    const flows = flowsOf(world, [undoing]);
    const failed = {
      status: "FAILED",
      error: {
        code: "OPERATION_FAILED",
        message: expect.stringMatching(/Undone before it: step 2\. Not undone: step 1, step 0\./),
      },
    };
    expect(await flows.run(undoing, run, {})).toMatchObject(failed);
    const recorded = (await world.opened.store.runs.listSteps(run)).at(-1);
    expect(JSON.parse(recorded?.value ?? "")).toMatchObject({
      details: { step: "step 1", undone: ["step 2"], left: ["step 1", "step 0"] },
    });
    const made = ["refund a", "refund b", "refund c", "undo c"];
    expect(ledger()).toEqual(made);
    // It stands: the same run again gives the same answer, and sends nothing.
    await flows.retry(run);
    await workOn(world, flows, 1);
    expect(await flows.read(run)).toMatchObject(failed);
    expect(ledger()).toEqual(made);
  },
);

for (const point of ["step-started", "step-acted", "step-recorded", "before-run-settle"] as const) {
  scenario(
    `a process that ends in the middle of undoing, at ${point}, leaves each undo to be made once`,
    {},
    async (world) => {
      const { toolOf, ledger } = workshop(world);
      const tools = ["a", "b", "c"].map((orderId) => toolOf(orderId));
      const undoing = flow("undoing", async (f) => {
        for (const [index, tool] of tools.entries()) {
          await f.act(`step ${index}`, tool, argsOf("abc"[index] ?? ""));
        }
        return f.compensate("undo");
      });
      // It writes nothing more: the first time, the second time … at which it comes there.
      let deaths = 0;
      let die = (): void => {};
      const process = async (): Promise<void> => {
        let passed = 0;
        const died = new Promise<void>((resolve) => (die = resolve));
        const onPoint = (at: { name: string; step: string | undefined }) => {
          const here = at.name === point && (at.step ?? "undo") === "undo";
          if (!here || deaths >= 3 || passed++ < deaths) return undefined;
          deaths += 1;
          die();
          return new Promise<void>(() => {});
        };
        await Promise.race([flowsOf(world, [undoing], { onPoint }).workOnce(), died]);
        world.advance(61_000);
      };
      const flows = flowsOf(world, [undoing]);
      await flows.start(undoing, run, {});
      for (let started = 0; started < 8; started += 1) await process();
      expect(deaths).toBe(point === "step-acted" ? 3 : 1);
      expect(await flows.read(run)).toMatchObject({
        status: "DONE",
        output: ["step 2", "step 1", "step 0"],
      });
      const all = ["refund a", "refund b", "refund c", "undo c", "undo b", "undo a"];
      expect(ledger()).toEqual(all);
      await flows.run(undoing, { ...run, runId: "again" }, {});
      expect(ledger()).toEqual(all);
    },
  );
}

scenario("a call that was refused as another one's intent is not undone", {}, async (world) => {
  const { toolOf, ledger } = workshop(world);
  const tool = toolOf("a");
  await world.run({ tool, args: argsOf("a") });
  const undoing = flow("undoing", async (f) => {
    const told = await codeOf(f.act("act", tool, { ...argsOf("a"), amountMinor: 1 }));
    return [told, ...(await f.compensate("undo"))];
  });
  expect(await flowsOf(world, [undoing]).run(undoing, run, {})).toMatchObject({
    status: "DONE",
    output: ["PAYLOAD_MISMATCH"],
  });
  expect(ledger()).toEqual(["refund a"]);
});

scenario("a result that can't be stored is undone all the same", {}, async (world) => {
  const { toolOf, ledger } = workshop(world);
  const send = executeRefund(world.client);
  const tool = toolOf("a", {
    execute: async (args: object, call: Parameters<typeof send>[1]) => {
      await send(args, call);
      return { at: new Date(0) };
    },
  });
  const undoing = flow("undoing", async (f) => {
    const value = await f.act("act", tool, argsOf("a"));
    return [value === undefined, await f.compensate("undo")];
  });
  const flows = flowsOf(world, [undoing]);
  expect(await flows.run(undoing, run, {})).toMatchObject({
    status: "DONE",
    output: [true, ["act"]],
  });
  await flows.run(undoing, { ...run, runId: "again" }, {});
  expect(ledger()).toEqual(["refund a", "undo a"]);
});
