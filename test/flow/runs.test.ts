/**
 * Runs: their ids, versions, leases and workers; and what a doubt or a replay of a step asks.
 */
import pg from "pg";
import { expect, it } from "vitest";
import { createFlows, createGuard, flow } from "../../src/index.ts";
import type { ClaimRunsParams, RunRecord, Runs } from "../../src/ledger/runs.ts";
import { openBench } from "../support/flow-bench.ts";
import { codeOf, flowsOf, run, scriptedModel, ticket } from "../support/flow-world.ts";
import { type OpenStore, describeStores } from "../support/stores.ts";
import { scenario } from "../support/world.ts";

/** A claim while another statement holds the rows. SQLite's would wait for it and passes over none. */
async function claimHeld(
  { kind, store, schema, location }: OpenStore,
  params: ClaimRunsParams,
): Promise<readonly RunRecord[]> {
  if (kind === "sqlite") return [];
  const client = new pg.Client({ connectionString: location });
  await client.connect();
  await client.query(`begin; select 1 from "${schema}".runs for update`);
  const claimed = await store.runs.claim(params);
  await client.end();
  return claimed;
}

describeStores("runs", (suite) => {
  it.each(["leaseMs", "maxAttempts", "retentionMs"])(
    "have a %s above zero, or no runner",
    async (part) => {
      const { store } = await suite.open();
      for (const value of [0, -1, Number.NaN, "30 d"]) {
        const options = { store, guard: undefined as never, flows: [], [part]: value };
        expect(() => createFlows(options)).toThrow(
          expect.objectContaining({ code: "CONFIGURATION_INVALID" }),
        );
      }
    },
  );

  it("an id that is taken by another input or flow is refused, and so is a purged one", async () => {
    const bench = await openBench(suite, async () => "done");
    const other = flow("other", async () => "other");
    const guard = await createGuard({ store: bench.opened.store });
    const both = createFlows({ store: bench.opened.store, guard, flows: [bench.made, other] });
    await both.run(bench.made, run, { a: 1 } as never);
    expect(await codeOf(both.start(bench.made, run, { a: 2 } as never))).toBe("PAYLOAD_MISMATCH");
    expect(await codeOf(both.start(other, run, { a: 1 }))).toBe("PAYLOAD_MISMATCH");
    expect(await codeOf(bench.flows.start(other, run, { a: 1 }))).toBe("FLOW_UNKNOWN");
    expect(await codeOf(both.start(bench.made, { tenant: "acme", runId: " " }, {} as never))).toBe(
      "INTENT_INVALID",
    );
    expect(await codeOf(both.read({ tenant: "acme", runId: "none" }))).toBe("RUN_NOT_FOUND");
    bench.clock.advance(46 * 86_400_000);
    expect(await both.purge()).toBe(1);
    expect(await codeOf(both.start(bench.made, run, { a: 1 } as never))).toBe("KEY_EXPIRED");
    expect(await bench.opened.store.runs.listSteps(run)).toEqual([]);
  });

  it("a run stays with the version that it was started with", async () => {
    const bench = await openBench(suite, async (f) => {
      await f.decide("old", () => 1);
      await f.sleep("night", 1000);
      return "old";
    });
    const guard = await createGuard({ store: bench.opened.store });
    const newer = flow("bench", async (f) => f.decide("new", () => "new"), { version: 2 });
    const onlyNew = createFlows({ store: bench.opened.store, guard, flows: [newer] });
    await bench.flows.run(bench.made, run, {} as never);
    bench.clock.advance(1000);
    expect(await onlyNew.workOnce()).toBe(0);
    expect(await onlyNew.run(newer, { ...run, runId: "second" }, {})).toMatchObject({
      output: "new",
    });
    await bench.flows.workOnce();
    expect(await bench.flows.read(run)).toMatchObject({ status: "DONE", output: "old" });
  });

  it("a process that lost its lease records nothing more", async () => {
    let release = (): void => {};
    const gate = new Promise<void>((resolve) => {
      release = resolve;
    });
    let asked = 0;
    const bench = await openBench(suite, (f) =>
      f.decide("assess", async () => {
        asked += 1;
        if (asked === 1) await gate;
        return asked;
      }),
    );
    await bench.flows.start(bench.made, run, {} as never);
    const stuck = bench.flows.workOnce();
    await expect.poll(() => asked).toBe(1);
    bench.clock.advance(61_000);
    const other = await bench.another();
    expect(await other.workOnce()).toBe(1);
    const settled = await other.read(run);
    release();
    await stuck;
    expect(await other.read(run)).toMatchObject({ status: "DONE", output: 2 });
    expect((await other.read(run)).run.token).toBe(settled.run.token);
  });

  it("a run that a claim passes over for a moment is worked on all the same", async () => {
    const bench = await openBench(suite, async () => "done");
    const { store } = bench.opened;
    let claims = 0;
    const claim: Runs["claim"] = async (params) => {
      claims += 1;
      return claims > 2 ? store.runs.claim(params) : claimHeld(bench.opened, params);
    };
    const runs = Object.create(store.runs, { claim: { value: claim } });
    const flows = createFlows({
      store: Object.create(store, { runs: { value: runs } }),
      guard: await createGuard({ store }),
      flows: [bench.made],
    });
    const state = await flows.run(bench.made, run, {} as never);
    expect(state).toMatchObject({ status: "DONE", output: "done", run: { token: 1 } });
    expect(claims).toBe(3);
  });

  it("a run that another process works on is not waited for", async () => {
    const bench = await openBench(suite, () => new Promise(() => {}));
    void bench.flows.run(bench.made, run, {} as never);
    await expect.poll(async () => (await bench.flows.read(run)).run.token).toBe(1);
    const other = await bench.another();
    const state = await bench.flows.run(bench.made, run, {} as never);
    expect(state.status).toBe("RUNNING");
    expect(await other.workOnce()).toBe(0);
  });

  it("a worker takes up what is due and ends when it is told to", async () => {
    const clockless = await suite.open();
    const guard = await createGuard({ store: clockless.store });
    const made = flow("short", async (f) => {
      await f.sleep("a moment", 20);
      return f.decide("end", () => f.runId);
    });
    const flows = createFlows({ store: clockless.store, guard, flows: [made] });
    const stop = new AbortController();
    const working = flows.work({ signal: stop.signal, everyMs: 50, concurrency: 2 });
    const ids = ["a", "b", "c", "d", "e"].map((runId) => ({ tenant: "acme", runId }));
    for (const id of ids) await flows.start(made, id, {});
    for (const id of ids) {
      await expect.poll(async () => (await flows.read(id)).status).toBe("DONE");
    }
    stop.abort();
    await working;
  });
});

scenario(
  "an outcome in doubt is waited for, and the step is never decided anew",
  {},
  async (world) => {
    const model = scriptedModel();
    const refundTicket = flow("refund-ticket", async (f) => {
      const decision = await f.decide("assess", model.ask);
      return f.act("refund", world.refund, decision);
    });
    const flows = flowsOf(world, [refundTicket]);
    world.provider.fault({ dropReplyAfterCommit: true });
    const first = await flows.run(refundTicket, run, ticket);
    expect(["WAITING", "DONE"]).toContain(first.status);
    for (let pass = 0; pass < 6; pass += 1) {
      world.advance(61_000);
      await flows.workOnce();
    }
    expect((await flows.read(run)).status).toBe("DONE");
    expect(model.prompts()).toBe(1);
    await flows.run(refundTicket, { tenant: "acme", runId: "again" }, ticket);
    world.assertEffects(1);
  },
);

scenario(
  "a replay of a recorded step asks neither the guard nor the provider",
  {},
  async (world) => {
    const refundTicket = flow("refund-ticket", async (f) => {
      const { orderId, ticketId } = ticket;
      const args = { orderId, ticketId, amountMinor: 48_000, currency: "EUR" };
      await f.approve("manager", args, { tool: world.refund });
      const refund = await f.act("refund", world.refund, args);
      await f.sleep("night", 1000);
      return refund;
    });
    const flows = flowsOf(world, [refundTicket]);
    await flows.run(refundTicket, run, ticket);
    const [approval] = await flows.openApprovals();
    if (approval === undefined) throw new Error("no approval is open");
    const { name, version, fingerprint } = approval;
    const by = { by: "lead@acme", why: "seen", decision: "approve" } as const;
    await flows.decide({ ...run, name, version, fingerprint, ...by });
    await flows.workOnce();
    const lines = (await world.row()).journalSeq;
    for (let pass = 0; pass < 3; pass += 1) {
      await flows.wake(run);
      await flows.workOnce();
    }
    expect((await world.row()).journalSeq).toBe(lines);
    world.advance(1000);
    await flows.workOnce();
    expect(await flows.read(run)).toMatchObject({
      status: "DONE",
      output: { operation: "refund" },
    });
    world.assertEffects(1);
  },
);
