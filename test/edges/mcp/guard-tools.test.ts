/**
 * A server written with the official SDK whose tools are guarded: whatever the official client
 * repeats, the provider's ledger holds one effect for each intent, and each answer says what it is.
 */
import { Client, InMemoryTransport } from "@modelcontextprotocol/client";
import { McpServer } from "@modelcontextprotocol/server";
import { expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { type Guard, defineTool } from "../../../src/index.ts";
import { type GuardToolsOptions, guardTools } from "../../../src/edges/mcp/index.ts";
import { type ToolAnswer, callTool, textOf, toldBy } from "../../gateway/support/gateway-world.ts";
import { type World, refundArgs, scenario } from "../../support/world.ts";

const context = { tenant: { value: "acme" } };

async function serve(guard: Guard, options: GuardToolsOptions): Promise<Client> {
  const server = new McpServer({ name: "shop", version: "1.0.0" });
  guardTools(server, guard, { context, ...options });
  const client = new Client({ name: "agent", version: "1.0.0" });
  const [near, far] = InMemoryTransport.createLinkedPair();
  await Promise.all([server.connect(far), client.connect(near)]);
  onTestFinished(() => client.close());
  return client;
}

function refund(
  client: Client,
  change: Record<string, unknown> = {},
  own?: Record<string, unknown>,
): Promise<ToolAnswer> {
  const meta = own === undefined ? undefined : { "dev.nevertwice/context": own };
  return callTool(client, "issue_refund", { ...refundArgs, ...change }, meta);
}

const agentOf = (world: World): Promise<Client> =>
  serve(world.guard, { tools: [{ tool: world.refund }], waitMs: 2000 });

scenario(
  "a served tool that is called again in other words takes effect once",
  {},
  async (world) => {
    const agent = await agentOf(world);
    const answers = [await refund(agent), await refund(agent, { reason: "It came in pieces" })];
    world.assertEffects(1);
    expect(answers.map(toldBy)).toEqual(["DONE", "REPLAYED"]);
    expect(answers[1]?.structuredContent).toEqual(answers[0]?.structuredContent);
    expect(textOf(answers[1] as ToolAnswer)).toContain(
      "Already done: this intent took effect once",
    );
  },
);

scenario("six served calls at once take effect once", {}, async (world) => {
  const agent = await agentOf(world);
  const answers = await Promise.all(Array.from({ length: 6 }, () => refund(agent)));
  world.assertEffects(1);
  expect(answers.map(toldBy).toSorted()).toEqual(["DONE", ...Array(5).fill("REPLAYED")]);
});

scenario("another amount under the same intent is refused, with the field", {}, async (world) => {
  const agent = await agentOf(world);
  await refund(agent);
  const other = await refund(agent, { amountMinor: 50_000 });
  world.assertEffects(1);
  expect([other.isError, toldBy(other)]).toEqual([true, "PAYLOAD_MISMATCH"]);
  expect(textOf(other)).toContain("amountMinor");
});

scenario(
  "the tenant and trusted ids come from _meta, and never from arguments",
  {},
  async (world) => {
    const tool = world.tool({
      name: "issue_refund_for_ticket",
      intent: ({ trusted }: { trusted: Record<string, unknown> }) =>
        `refund:${String(trusted["ticket"])}`,
    });
    const agent = await serve(world.guard, {
      context: {},
      tools: [{ tool, name: "issue_refund" }],
    });
    const own = { tenant: "acme", trusted: { ticket: "1" } };
    await refund(agent, {}, own);
    await refund(agent, { ticketId: "invented" }, own);
    await refund(agent, {}, { ...own, trusted: { ticket: "2" } });
    await refund(agent, {}, { ...own, tenant: "birch" });
    world.assertEffects(3);
    const nobody = await refund(agent, { tenant: "acme" });
    expect([nobody.isError, toldBy(nobody)]).toEqual([true, "INTENT_INVALID"]);
    world.assertEffects(3);
  },
);

scenario("an agent that goes away withdraws nothing", {}, async (world) => {
  const agent = await agentOf(world);
  const withdrawal = new AbortController();
  const call = agent.callTool(
    { name: "issue_refund", arguments: { ...refundArgs } },
    { signal: withdrawal.signal },
  );
  await expect.poll(async () => (await world.rows()).length).toBe(1);
  withdrawal.abort();
  await call.catch(() => {});
  const again = await refund(agent);
  world.assertEffects(1);
  expect(toldBy(again)).toBe("REPLAYED");
});

scenario("arguments that don't fit are told in a text of ours", {}, async (world) => {
  const agent = await agentOf(world);
  const unfit = await refund(agent, { amountMinor: "much" });
  expect([unfit.isError, toldBy(unfit)]).toEqual([true, "ARGUMENTS_INVALID"]);
  world.assertEffects(0);
});

scenario("a result that breaks its schema is told as done, and stays done", {}, async (world) => {
  const agent = await serve(world.guard, {
    tools: [{ tool: world.refund, outputSchema: z.object({ missing: z.string() }) }],
  });
  const answers = [await refund(agent), await refund(agent)];
  world.assertEffects(1);
  expect(answers.map(({ isError }) => isError)).toEqual([true, true]);
  expect(answers.map(toldBy)).toEqual(["DONE", "REPLAYED"]);
});

it("a tool that only reads tells nothing of operations, and is shown with its schema and hint", async () => {
  const look = defineTool({
    name: "look",
    kind: "read-only",
    arguments: z.object({ at: z.string() }),
    execute: ({ at }) => ({ seen: at }),
  });
  const run: Guard["run"] = async (tool, args) => {
    const value = await tool.execute(args as Record<string, unknown>, {} as never);
    const nothing = { key: null, omitted: null, replayed: false };
    return { ...nothing, value } as never;
  };
  const client = await serve({ run } as Guard, { tools: [{ tool: look }] });
  const seen = await callTool(client, "look", { at: "x" });
  expect([seen.structuredContent, seen.content.length]).toEqual([{ seen: "x" }, 1]);
  const { tools } = await client.listTools();
  expect(tools[0]).toMatchObject({
    annotations: { readOnlyHint: true },
    inputSchema: { properties: { at: { type: "string" } } },
  });
});

it("a schema without a JSON Schema is refused before anything is registered", () => {
  const tool = defineTool({
    name: "look",
    kind: "read-only",
    arguments: { "~standard": { version: 1, vendor: "own", validate: () => ({ value: {} }) } },
    execute: () => null,
  });
  const server = new McpServer({ name: "shop", version: "1.0.0" });
  const guard = { run: () => Promise.reject(new Error("not called")) };
  expect(() => guardTools(server, guard, { tools: [{ tool }] })).toThrow(/no JSON Schema/);
});
