/**
 * The gateway's own tool: it tells what the ledger knows, to the caller's own tenant, and runs nothing.
 */
import type { Client } from "@modelcontextprotocol/client";
import { expect, it } from "vitest";
import { sqliteSuite } from "../support/stores.ts";
import {
  type GatewayWorld,
  type ToolAnswer,
  callTool,
  createGatewayWorld,
  gatewayScenario,
  operationOf,
  textOf,
  twoTenants,
} from "./support/gateway-world.ts";
import { carried } from "./support/reviewing.ts";

const refundArguments = { order_id: "8812", amount_minor: 48_000 };

function ask(client: Client, about: Record<string, unknown>): Promise<ToolAnswer> {
  return callTool(client, "operation_status", about);
}

function askCall(world: GatewayWorld, change: Record<string, unknown> = {}): Promise<ToolAnswer> {
  const args = { ...refundArguments, ...change };
  return ask(world.agent, { tool: "issue_refund", arguments: args });
}

/** Keys and times differ from run to run. */
function steady(answer: ToolAnswer): string {
  return textOf(answer)
    .replaceAll(/\b[0-9a-f]{64}\b/g, "<key>")
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "<time>");
}

gatewayScenario("a status is told by key and by call, and runs nothing", {}, async (world) => {
  const before = await askCall(world);
  world.assertEffects(0);
  expect(await world.rows()).toEqual([]);
  expect(before.structuredContent).toMatchObject({ found: false, sameCall: "safe" });
  expect(textOf(before)).toContain("That proves nothing about the effect");
  const { key } = operationOf(await world.refund());
  const versions = (await world.rows()).map(({ journalSeq }) => journalSeq);
  const told = [await ask(world.agent, { key }), await askCall(world, { reason: "other words" })];
  for (const answer of told) {
    expect(answer.isError).toBeUndefined();
    expect(answer.structuredContent).toMatchObject({
      found: true,
      status: "DONE",
      attempts: 1,
      sameCall: "safe",
      key,
    });
  }
  expect(operationOf(before).key).toBe(key);
  world.assertEffects(1);
  expect((await world.rows()).map(({ journalSeq }) => journalSeq)).toEqual(versions);
});

gatewayScenario(
  "a status is told to the operation's own tenant, and to nobody else",
  twoTenants,
  async (world) => {
    const birch = await world.connect({
      headers: { authorization: "Bearer birch-token-0123456789" },
    });
    const { key } = operationOf(await world.refund());
    expect((await ask(world.agent, { key })).structuredContent).toMatchObject({ found: true });
    const foreign = [
      await ask(birch, { key }),
      await ask(birch, { tool: "issue_refund", arguments: refundArguments }),
    ];
    for (const answer of foreign) {
      expect(answer.structuredContent).toMatchObject({ found: false });
      expect(answer.structuredContent).not.toHaveProperty("status");
    }
    world.assertEffects(1);
  },
);

gatewayScenario("other arguments are told apart from the recorded ones", {}, async (world) => {
  await world.refund();
  const other = await askCall(world, { amount_minor: 1 });
  expect(other.structuredContent).toMatchObject({ status: "DONE", sameCall: "useless" });
  expect(textOf(other)).toContain("a call with the given ones would be refused");
  world.assertEffects(1);
});

it("what is told of each status", async () => {
  const world = await createGatewayWorld(sqliteSuite, { policy: `${carried}    wait: 0ms` });
  const none = await askCall(world);
  world.set("hang");
  const running = world.refund();
  await expect.poll(() => world.effects().length).toBe(1);
  const during = await askCall(world);
  world.clear("hang");
  await running;
  const done = await askCall(world);
  const changed = await askCall(world, { amount_minor: 1 });
  world.set("die-after-effect");
  await world.refund({ order_id: "2" });
  const unknown = await askCall(world, { order_id: "2" });
  await world.refund({ order_id: "2" });
  const review = await askCall(world, { order_id: "2" });
  expect([none, during, done, changed, unknown, review].map(steady)).toMatchInlineSnapshot(`
    [
      "No operation with this key is recorded for this caller. That proves nothing about the effect: it may be recorded under another intent, another tenant or another ledger, or the call may still be on its way. The same call is safe: it runs under its own key, once. Key <key>.",
      "It is being executed right now by another call; its outcome is not known yet. The same call is safe and will bring the outcome. A changed call, or a new intent for the same matter, is not safe. Key <key>.",
      "Done: it took effect once, first sent <time>. The same call is safe: it brings the stored outcome and sends nothing new. Key <key>.",
      "This intent is recorded with other business arguments than the given ones; a call with the given ones would be refused. Done: it took effect once, first sent <time>. The same call is safe: it brings the stored outcome and sends nothing new. Key <key>.",
      "A request for it was sent, or may have been, and whether it took effect is not known. The same call is safe: it looks before it sends. A changed call, or a new intent for the same matter, is not safe. Key <key>.",
      "Whether it took effect can't be settled by any rule; a person has been asked and has not decided yet. The same call is safe and will bring the decision. A changed call, or a new intent for the same matter, is not safe. Key <key>.",
    ]
  `);
});

it("what is told of approvals, declines and what was purged", async () => {
  const policy = `${carried}    approval: { argument: amount_minor, above: 20000 }`;
  const world = await createGatewayWorld(sqliteSuite, { policy });
  const { guard } = await world.bare();
  const decide = async (order: string, decision: "run-again" | "did-not-happen"): Promise<void> => {
    const { key = "" } = operationOf(await world.refund({ order_id: order }));
    const row = await world.opened.store.read({ tenant: "acme", key });
    const version = row?.version ?? 0;
    await guard.resolve({ tenant: "acme", key, version, decision, by: "ann", why: "asked" });
  };
  await world.refund();
  const held = await askCall(world);
  await decide("8812", "run-again");
  const approved = await askCall(world);
  await decide("2", "did-not-happen");
  const declined = await askCall(world, { order_id: "2" });
  await world.opened.sql(
    "update nevertwice_operations set settled_at_ms = 1, retention_ms = 1 where status = 'FAILED'",
  );
  await guard.purge();
  const purged = await askCall(world, { order_id: "2" });
  world.assertEffects(0);
  expect([held, approved, declined, purged].map(steady)).toMatchInlineSnapshot(`
    [
      "Nothing was sent for it: before that, a person has been asked and has not decided yet. The same call is safe and will bring the decision. A changed call, or a new intent for the same matter, is not safe. Key <key>.",
      "It is recorded, and since a person let it run nothing has been sent for it. The same call is safe, and sends it once. A changed call, or a new intent for the same matter, is not safe. Key <key>.",
      "It was declined before anything was sent for it: no effect exists. The same call gives this same answer and sends nothing; another attempt is a new intent that names this one and a reason. Key <key>.",
      "This operation was settled (FAILED) so long ago that its outcome is no longer stored. The same call is not run again, and doesn't bring the outcome. Key <key>.",
    ]
  `);
});

it("what can't be asked about", async () => {
  const world = await createGatewayWorld(sqliteSuite, {});
  const answers = [
    await ask(world.agent, {}),
    await ask(world.agent, { key: "k", tool: "issue_refund" }),
    await ask(world.agent, { key: "k\u0000" }),
    await ask(world.agent, { tool: 7 }),
    await ask(world.agent, { tool: "nothing" }),
    await ask(world.agent, { tool: "list_refunds" }),
    await ask(world.agent, { tool: "issue_refund", arguments: { order_id: "8812" } }),
  ];
  for (const answer of answers) expect(answer.isError).toBe(true);
  expect(answers.map(steady)).toMatchInlineSnapshot(`
    [
      "No operation can be looked up: give either a key or a tool. Nothing was sent.",
      "No operation can be looked up: give either a key or a tool. Nothing was sent.",
      "No operation can be looked up: a key has 64 hexadecimal digits. Nothing was sent.",
      "No operation can be looked up: a tool is named by a text. Nothing was sent.",
      "No operation can be looked up: there is no tool nothing. Nothing was sent.",
      "No operation can be looked up: calls of list_refunds are not recorded, because calling it again is safe. Nothing was sent.",
      "The arguments don't fit the schema of shop/issue_refund: $: data must have required property 'amount_minor'. Nothing was recorded and nothing was sent.",
    ]
  `);
});

async function toolNames(config: string): Promise<readonly string[]> {
  const world = await createGatewayWorld(sqliteSuite, { config });
  const { tools } = await world.agent.listTools();
  return tools.map(({ name }) => name);
}

it("it may be renamed and switched off, and a server's tool of its name goes first", async () => {
  const own = ["issue_refund", "list_refunds"];
  expect(await toolNames("")).toEqual([...own, "operation_status"]);
  expect(await toolNames("operationStatus: { name: nevertwice_status }")).toEqual([
    ...own,
    "nevertwice_status",
  ]);
  expect(await toolNames("operationStatus: { offer: false }")).toEqual(own);
  expect(await toolNames("operationStatus: { name: list_refunds }")).toEqual(own);
  const world = await createGatewayWorld(sqliteSuite, {
    config: "operationStatus: { name: list_refunds }",
  });
  const listed = await callTool(world.agent, "list_refunds", {});
  expect(listed.structuredContent).toEqual({ refunds: [] });
  const off = await createGatewayWorld(sqliteSuite, {
    config: "operationStatus: { offer: false }",
  });
  await expect(ask(off.agent, { key: "k" })).rejects.toThrow("Unknown tool: operation_status");
});
