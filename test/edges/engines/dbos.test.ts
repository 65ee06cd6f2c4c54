/**
 * A flow on DBOS with its tables in a real PostgreSQL: a step is run again whose answer was not
 * recorded, a workflow is taken up by the next launch, and the guard keeps the effect single.
 */
import { DBOS } from "@dbos-inc/dbos-sdk";
import { describe, expect, inject, it, onTestFinished } from "vitest";
import { type DbosOptions, dbosFlow } from "../../../src/edges/engines/dbos.ts";
import { createDatabase } from "../../support/postgres-database.ts";
import { openPostgres } from "../../support/stores.ts";
import {
  type EngineWorld,
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

const id = { tenant: "acme", runId: "ticket-5521" };

/** DBOS with tables of its own, and a world in the same database; flows are registered by `register`. */
async function launchWith<Registered>(
  dyingTool: string | undefined,
  register: (world: EngineWorld, options: DbosOptions) => Registered,
) {
  const database = await createDatabase(inject("postgresUrl") ?? "");
  const opened = await openPostgres(database.url);
  onTestFinished(() => opened.close());
  const world = await openEngineWorld(opened.store);
  const deaths = dyingTool === undefined ? 0 : 2;
  const { guard, died } = dyingAfterEffect(world.guard, deaths, dyingTool);
  const systemDatabaseUrl = database.url;
  const applicationVersion = "1";
  DBOS.setConfig({ name: "plays", systemDatabaseUrl, logLevel: "error", applicationVersion });
  const { store, refund } = world;
  const flows = register(world, { store, guard, tools: [refund] });
  await DBOS.launch();
  onTestFinished(() => DBOS.shutdown({ deregister: true }));
  return { world, died, flows };
}

async function play(passThrough: boolean) {
  const database = await createDatabase(inject("postgresUrl") ?? "");
  const opened = await openPostgres(database.url);
  onTestFinished(() => opened.close());
  const world = await openEngineWorld(opened.store, passThrough);
  const { guard, died } = dyingAfterEffect(world.guard, 2);
  const { store, refund } = world;
  const launch = async () => {
    DBOS.setConfig({
      name: "nevertwice-test",
      systemDatabaseUrl: database.url,
      logLevel: "error",
      applicationVersion: "1",
    });
    const refunds = dbosFlow(DBOS, refundFlow(world, refund), { store, guard, tools: [refund] });
    await DBOS.launch();
    return refunds;
  };
  const first = await launch();
  onTestFinished(() => DBOS.shutdown({ deregister: true }));
  await first.start(id, ticket);
  const approval = await world.approvalOf(id.runId);
  expect(world.provider.ledger()).toHaveLength(0);
  // The process ends while the run waits for a person; the next one takes it up.
  await DBOS.shutdown({ deregister: true, workflowCompletionTimeoutMS: 0 });
  const second = await launch();
  await second.decide({ ...id, ...yesTo(approval) });
  const ended = await (await second.start(id, ticket)).getResult();
  return { world, ended, died };
}

describe.skipIf(inject("postgresUrl") === null)("a flow on DBOS", () => {
  it("prompts once and refunds once, over two launches and two lost answers", async () => {
    const { world, ended, died } = await play(false);
    expect(ended.by).toBe("lead@acme");
    expect(died()).toBe(2);
    expect(world.prompts()).toBe(1);
    expect(world.provider.ledger()).toHaveLength(1);
    expect(await world.eventIds()).toEqual([ended.eventId]);
  });

  it("undoes what there is when a refund is refused, once, though the process ends twice after it", async () => {
    const { world, died, flows } = await launchWith("take_back", ({ refund }, options) =>
      dbosFlow(DBOS, sagaFlow("saga", refund, "one by one"), options),
    );
    world.provider.fault({ pass: true }, { decline: true });
    const ended = await (await flows.start(id, ticket)).getResult();
    expect(ended).toEqual({ code: "OPERATION_FAILED", undone: ["first"] });
    expect(died()).toBe(2);
    expect(ledgerOf(world)).toEqual(["refund a", "take-back a"]);
  });

  it("waits for a refund in doubt, and then undoes it", async () => {
    const { world, flows } = await launchWith(undefined, ({ refund }, options) =>
      dbosFlow(DBOS, sagaFlow("saga", refund, "one by one"), options),
    );
    world.provider.fault({ dropReplyAfterCommit: true }, { decline: true });
    const ended = await (await flows.start(id, ticket)).getResult();
    expect(ended).toEqual({ code: "OPERATION_FAILED", undone: ["first"] });
    expect(ledgerOf(world)).toEqual(["refund a", "take-back a"]);
  });

  it("finds out what an act did that DBOS gave up, and undoes that", async () => {
    const { world, died, flows } = await launchWith("issue_refund", ({ refund }, options) =>
      dbosFlow(DBOS, givenUpFlow("given-up", refund), { ...options, maxAttempts: 2 }),
    );
    expect(await (await flows.start(id, ticket)).getResult()).toEqual(["refund"]);
    expect(died()).toBe(2);
    expect(ledgerOf(world)).toEqual(["refund a", "take-back a"]);
  });

  it("refuses steps side by side, which it could not replay", async () => {
    const { world, flows } = await launchWith(undefined, ({ refund }, options) =>
      dbosFlow(DBOS, sagaFlow("saga", refund, "side by side"), options),
    );
    const running = (await flows.start(id, ticket)).getResult();
    await expect(running).rejects.toThrow(/"second" while another one is under way/);
    expect(ledgerOf(world)).not.toContain("refund b");
  });

  it("refunds nothing after a decline, and nothing after the time is over", async () => {
    const { world, flows } = await launchWith(undefined, ({ refund }, options) => ({
      declined: dbosFlow(DBOS, askingFlow("declined", refund, 60_000), options),
      expired: dbosFlow(DBOS, askingFlow("expired", refund, 300), options),
    }));
    const late = { ...id, runId: "late" };
    const declining = await flows.declined.start(id, ticket);
    const approval = await world.approvalOf(id.runId);
    await flows.declined.decide({ ...id, ...noTo(approval) });
    expect(await declining.getResult()).toEqual({ code: "APPROVAL_DECLINED" });
    const expiring = await flows.expired.start(late, ticket);
    expect(await expiring.getResult()).toEqual({ code: "APPROVAL_EXPIRED" });
    expect(ledgerOf(world)).toEqual([]);
  });

  it("would refund three times without the guard", async () => {
    const { world } = await play(true);
    expect(world.provider.ledger()).toHaveLength(3);
  });
});
