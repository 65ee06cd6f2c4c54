/**
 * The steps one by one: what each records, how long it waits, and what it refuses.
 */
import { expect, it } from "vitest";
import { z } from "zod";
import { type FlowContext, type Tool, defineTool } from "../../src/index.ts";
import { type Bench, type Body, openBench } from "../support/flow-bench.ts";
import { codeOf, run } from "../support/flow-world.ts";
import { describeStores } from "../support/stores.ts";

function payTool(sent: unknown[]): Tool {
  return defineTool({
    name: "pay",
    kind: "non-idempotent",
    scope: "step",
    arguments: z.object({ orderId: z.string(), amountMinor: z.int() }),
    intent: ({ args }) => `pay:${args.orderId}`,
    businessArguments: ["orderId", "amountMinor"],
    contract: { timeoutMs: 1000, flightMs: 1000 },
    execute: (args) => sent.push(args),
  });
}

describeStores("decide", (suite) => {
  it.each([
    ["a date", () => new Date(0), "$.when"],
    ["a map", () => new Map(), "$.when"],
    ["not a number", () => Number.NaN, "$.when"],
  ])("refuses %s with its path, and records nothing", async (_, make, path) => {
    const bench = await openBench(suite, (f) => f.decide("assess", () => ({ when: make() })));
    const state = await bench.flows.run(bench.made, run, {} as never);
    expect(state).toMatchObject({ status: "FAILED", error: { code: "STEP_INVALID" } });
    expect(JSON.stringify(state)).toContain(path);
    expect(await bench.opened.store.runs.listSteps(run)).toEqual([]);
  });

  it.each([
    ["undefined", undefined],
    ["null", null],
    ["zero", 0],
    ["an empty text", ""],
  ])("keeps %s as it is", async (_, value) => {
    const seen: unknown[] = [];
    const bench = await openBench(suite, async (f) => {
      seen.push(await f.decide("assess", () => value));
      await f.sleep("night", 1000);
      return value;
    });
    await bench.flows.run(bench.made, run, {} as never);
    bench.clock.advance(1000);
    await bench.flows.workOnce();
    expect(await bench.flows.read(run)).toMatchObject({ status: "DONE" });
    expect(seen).toEqual([value, value]);
  });

  it("freezes what it returns, and gives each replay a copy of its own", async () => {
    const bench = await openBench(suite, async (f) => {
      const decision = await f.decide("assess", () => ({ lines: [{ amount: 1 }] }));
      expect(Object.isFrozen(decision.lines[0])).toBe(true);
    });
    expect((await bench.flows.run(bench.made, run, {} as never)).status).toBe("DONE");
  });

  it("a model that is away is asked again later, within a limit", async () => {
    let asked = 0;
    const bench = await openBench(suite, (f) =>
      f.decide("assess", () => {
        asked += 1;
        throw new Error("the model is away");
      }),
    );
    const flows = await bench.another(undefined, { maxAttempts: 3 });
    await bench.flows.start(bench.made, run, {} as never);
    const states: string[] = [];
    for (let pass = 0; pass < 5; pass += 1) {
      await flows.workOnce();
      states.push((await flows.read(run)).status);
      bench.clock.advance(60_000);
    }
    expect(states).toEqual(["WAITING", "WAITING", "FAILED", "FAILED", "FAILED"]);
    expect(asked).toBe(3);
    await flows.retry(run);
    await flows.workOnce();
    expect(asked).toBe(4);
  });
});

describeStores("steps", (suite) => {
  it("a second step of the same name is refused", async () => {
    const bench = await openBench(suite, async (f) => {
      await f.decide("assess", () => 1);
      await f.decide("assess", () => 2);
    });
    const state = await bench.flows.run(bench.made, run, {} as never);
    expect(state).toMatchObject({ status: "FAILED", error: { code: "STEP_INVALID" } });
    expect(JSON.stringify(state)).toContain("assess");
  });

  it("a step inside a step is refused, and no run hangs on it", async () => {
    const bench = await openBench(suite, (f) =>
      f.decide("assess", async () => {
        await f.sleep("night", 1000);
        return 1;
      }),
    );
    const state = await bench.flows.run(bench.made, run, {} as never);
    expect(state).toMatchObject({ status: "FAILED", error: { code: "STEP_INVALID" } });
    expect(JSON.stringify(state)).toContain('inside the step \\"assess\\"');
  });

  it("code that ends while a step is under way is no success", async () => {
    let answer: (value: number) => void = () => {};
    const asked = new Promise<number>((resolve) => (answer = resolve));
    const bench = await openBench(suite, async (f) => {
      void f.decide("assess", () => asked);
    });
    const state = await bench.flows.run(bench.made, run, {} as never);
    expect(state).toMatchObject({ status: "FAILED", error: { code: "STEP_INVALID" } });
    // It fails now that the run is over, and does not end this process.
    answer(1);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(await bench.opened.store.runs.listSteps(run)).toEqual([]);
  });

  it("a step that became another kind is noticed", async () => {
    const bench = await openBench(suite, async (f) => {
      await f.decide("first", () => 1);
      await f.sleep("night", 1000);
    });
    await bench.flows.run(bench.made, run, {} as never);
    bench.clock.advance(1000);
    const changed = await bench.another(async (f) => {
      await f.sleep("first", 5);
    });
    await changed.workOnce();
    expect(await changed.read(run)).toMatchObject({
      status: "FAILED",
      error: { code: "FLOW_CHANGED" },
    });
  });

  it("sleeps until its time, counted from where it began, across processes", async () => {
    const bench = await openBench(suite, (f) => f.sleep("three days", 3 * 86_400_000));
    const waiting = await bench.flows.run(bench.made, run, {} as never);
    expect(waiting).toMatchObject({ status: "WAITING", run: { waitsFor: "three days: time" } });
    const other = await bench.another();
    bench.clock.advance(3 * 86_400_000 - 1);
    expect(await other.workOnce()).toBe(0);
    await other.wake(run);
    expect(await other.workOnce()).toBe(1);
    expect((await other.read(run)).status).toBe("WAITING");
    bench.clock.advance(1);
    expect(await other.workOnce()).toBe(1);
    expect((await other.read(run)).status).toBe("DONE");
  });

  it("the user's catch does not take a wait for an error", async () => {
    let caught = 0;
    const bench = await openBench(suite, async (f) => {
      try {
        await f.approve("manager", { amount: 1 });
      } catch {
        caught += 1;
      } finally {
        caught += 1;
      }
    });
    await bench.flows.run(bench.made, run, {} as never);
    expect((await bench.flows.read(run)).status).toBe("WAITING");
    expect(caught).toBe(0);
  });

  it("fail ends the run at once, and its reason is told", async () => {
    const bench = await openBench(suite, async (f) => f.fail("no such order"));
    expect(await bench.flows.run(bench.made, run, {} as never)).toMatchObject({
      status: "FAILED",
      error: { code: "RUN_FAILED", message: "no such order" },
    });
  });
});

describeStores("approvals", (suite) => {
  const asking: Body = (f) => f.approve("manager", { amount: 1 }, { waitMs: 1000 });

  async function ask(body = asking): Promise<Bench> {
    const bench = await openBench(suite, body);
    await bench.flows.run(bench.made, run, {} as never);
    return bench;
  }

  async function decision(bench: Bench) {
    const [approval] = await bench.flows.openApprovals({ tenant: "acme" });
    if (approval === undefined) throw new Error("no approval is open");
    const { name, version, fingerprint } = approval;
    return { ...run, name, version, fingerprint, by: "lead@acme", why: "seen" };
  }

  it("a decline is thrown to the flow's code, now and on each replay", async () => {
    const told: string[] = [];
    const bench = await ask(async (f) => {
      told.push(await codeOf(f.approve("manager", { amount: 1 })));
      await f.sleep("night", 1000);
      return "kept";
    });
    await bench.flows.decide({ ...(await decision(bench)), decision: "decline" });
    await bench.flows.workOnce();
    bench.clock.advance(1000);
    await bench.flows.workOnce();
    expect(await bench.flows.read(run)).toMatchObject({ status: "DONE", output: "kept" });
    expect(told).toEqual(["APPROVAL_DECLINED", "APPROVAL_DECLINED"]);
  });

  it("of two waits the slower one may be left behind", async () => {
    const bench = await openBench(suite, (f) =>
      Promise.race([
        f.approve("manager", 1).then(() => "yes"),
        f.sleep("day", 1000).then(() => "late"),
      ]),
    );
    await bench.flows.run(bench.made, run, {} as never);
    const asked = await decision(bench);
    bench.clock.advance(1000);
    await bench.flows.workOnce();
    expect(await bench.flows.read(run)).toMatchObject({ status: "DONE", output: "late" });
    // Nobody is asked in the name of a run that has ended.
    expect(await bench.flows.openApprovals()).toEqual([]);
    await expect(bench.flows.decide({ ...asked, decision: "approve" })).rejects.toMatchObject({
      code: "APPROVAL_CONFLICT",
      message: expect.stringContaining("its run has ended") as string,
    });
  });

  it("expires by itself, and then can't be decided", async () => {
    const bench = await ask();
    const late = await decision(bench);
    bench.clock.advance(1000);
    expect(await codeOf(bench.flows.decide({ ...late, decision: "approve" }))).toBe(
      "APPROVAL_CONFLICT",
    );
    expect(await bench.flows.workOnce()).toBe(1);
    expect(await bench.flows.read(run)).toMatchObject({
      status: "FAILED",
      error: { code: "APPROVAL_EXPIRED" },
    });
    expect(await bench.flows.openApprovals()).toEqual([]);
  });

  it("holds for the payload that was shown and no other", async () => {
    const bench = await ask();
    const changed = await bench.another((f) => f.approve("manager", { amount: 2 }));
    const { fingerprint, ...shown } = await decision(bench);
    const other = {
      ...shown,
      fingerprint: fingerprint.replace(/^./, "z"),
      decision: "approve" as const,
    };
    expect(await codeOf(bench.flows.decide(other))).toBe("APPROVAL_CONFLICT");
    await bench.flows.decide({ ...shown, fingerprint, decision: "approve" });
    await changed.workOnce();
    expect(await changed.read(run)).toMatchObject({
      status: "FAILED",
      error: { code: "APPROVAL_MISMATCH" },
    });
  });

  it("of a call whose key is made of its step names that step, and holds for it", async () => {
    const sent: unknown[] = [];
    const pay = payTool(sent);
    const small = { orderId: "8812", amountMinor: 5 };
    const body =
      (forStep?: string) =>
      async (f: FlowContext): Promise<void> => {
        await f.approve("manager", small, {
          tool: pay,
          ...(forStep === undefined ? {} : { forStep }),
        });
        await f.act("pay", pay, { ...small, amountMinor: 50_000 });
      };
    const nameless = await openBench(suite, body());
    const refused = await nameless.flows.run(nameless.made, run, {} as never);
    expect(refused).toMatchObject({ status: "FAILED", error: { code: "STEP_INVALID" } });
    const bench = await openBench(suite, body("pay"));
    await bench.flows.run(bench.made, run, {} as never);
    await bench.flows.decide({ ...(await decision(bench)), decision: "approve" });
    await bench.flows.workOnce();
    expect(await bench.flows.read(run)).toMatchObject({
      status: "FAILED",
      error: { code: "APPROVAL_MISMATCH" },
    });
    expect(sent).toEqual([]);
  });

  it.each([
    [{ by: " " }, "INTENT_INVALID"],
    [{ why: "" }, "INTENT_INVALID"],
    [{ decision: "maybe" as never }, "CONFIGURATION_INVALID"],
    [{ runId: "other" }, "APPROVAL_CONFLICT"],
    [{ version: 2 }, "APPROVAL_CONFLICT"],
  ])("refuses a decision with %o", async (change, code) => {
    const bench = await ask();
    const made = { ...(await decision(bench)), decision: "approve" as const };
    expect(await codeOf(bench.flows.decide({ ...made, ...change }))).toBe(code);
    expect(await bench.flows.openApprovals()).toHaveLength(1);
  });
});
