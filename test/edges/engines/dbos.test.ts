/**
 * A flow on DBOS with its tables in a real PostgreSQL: a step is run again whose answer was not
 * recorded, a workflow is taken up by the next launch, and the guard keeps the effect single.
 */
import { DBOS } from "@dbos-inc/dbos-sdk";
import { describe, expect, inject, it, onTestFinished } from "vitest";
import { dbosFlow } from "../../../src/edges/engines/dbos.ts";
import { createDatabase } from "../../support/postgres-database.ts";
import { openPostgres } from "../../support/stores.ts";
import { dyingAfterEffect, openEngineWorld, refundFlow, ticket, yesTo } from "./engine-world.ts";

const id = { tenant: "acme", runId: "ticket-5521" };

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

  it("would refund three times without the guard", async () => {
    const { world } = await play(true);
    expect(world.provider.ledger()).toHaveLength(3);
  });
});
