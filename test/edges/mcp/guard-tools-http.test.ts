/**
 * A server whose tools are guarded, over HTTP with the official transport on both sides, in both eras:
 * tenants come from tokens, ids from headers, intents from where the tool says, in that order.
 */
import { type IncomingMessage, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Client } from "@modelcontextprotocol/client";
import { toNodeHandler } from "@modelcontextprotocol/node";
import { McpServer, createMcpHandler } from "@modelcontextprotocol/server";
import { expect, onTestFinished } from "vitest";
import {
  type AuthInfo,
  type GuardToolsOptions,
  broughtIntent,
  guardTools,
} from "../../../src/edges/mcp/index.ts";
import {
  type ToolAnswer,
  callTool,
  connectAgent,
  toldBy,
} from "../../gateway/support/gateway-world.ts";
import { type World, refundArgs, scenario } from "../../support/world.ts";

type Era = "legacy" | "modern";
type Connect = (headers?: Record<string, string>, era?: Era) => Promise<Client>;

/** Serves; a bearer token is its tenant's name. */
async function serve(world: World, options: GuardToolsOptions): Promise<Connect> {
  const handler = createMcpHandler(() => {
    const server = new McpServer({ name: "shop", version: "1.0.0" });
    guardTools(server, world.guard, options);
    return server;
  });
  const answer = toNodeHandler(handler);
  const server = createServer((request: IncomingMessage & { auth?: AuthInfo }, response) => {
    const token = /^Bearer (.+)$/.exec(request.headers.authorization ?? "")?.[1];
    if (token !== undefined)
      request.auth = { token, clientId: token, scopes: [], extra: { tenant: token } };
    void answer(request as Parameters<typeof answer>[0], response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    await handler.close();
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return (headers = {}, era = "modern") =>
    connectAgent(`http://127.0.0.1:${port}/mcp`, { headers, era });
}

function refund(
  client: Client,
  own?: Record<string, unknown>,
  change: Record<string, unknown> = {},
): Promise<ToolAnswer> {
  const meta = own === undefined ? undefined : { "dev.nevertwice/context": own };
  return callTool(client, "issue_refund", { ...refundArgs, ...change }, meta);
}

const acme = { authorization: "Bearer acme" };
const birch = { authorization: "Bearer birch" };

scenario("served over HTTP, an intent takes effect once in both eras", {}, async (world) => {
  const connect = await serve(world, { tools: [{ tool: world.refund }], waitMs: 2000 });
  const agents = [await connect(acme), await connect(acme, "legacy"), await connect(acme)];
  const answers = await Promise.all(agents.map((agent) => refund(agent)));
  world.assertEffects(1);
  expect(answers.map(toldBy).toSorted()).toEqual(["DONE", "REPLAYED", "REPLAYED"]);
});

scenario(
  "served over HTTP, the tenant is the token's, whatever else is said",
  {},
  async (world) => {
    const connect = await serve(world, { tools: [{ tool: world.refund }] });
    const [one, two, nobody] = [await connect(acme), await connect(birch), await connect()];
    const answers = [
      await refund(one),
      await refund(two),
      await refund(one, { tenant: "acme" }),
      await refund(one, { tenant: "birch" }),
      await refund(nobody),
    ];
    world.assertEffects(2);
    const refused = ["INTENT_INVALID", "INTENT_INVALID"];
    expect(answers.map(toldBy)).toEqual(["DONE", "DONE", "REPLAYED", ...refused]);
    expect((await world.rows()).map(({ tenant }) => tenant).toSorted()).toEqual(["acme", "birch"]);
  },
);

scenario(
  "served over HTTP, `tenantOf` reads the token, and a token without one is refused",
  {},
  async (world) => {
    const tenantOf = ({ clientId }: AuthInfo): string | undefined =>
      clientId === "birch" ? undefined : `tenant-of-${clientId}`;
    const connect = await serve(world, { tools: [{ tool: world.refund }], tenantOf });
    const [one, two] = [await connect(acme), await connect(birch)];
    const answers = [await refund(one), await refund(one), await refund(two, { tenant: "acme" })];
    world.assertEffects(1);
    expect(answers.map(toldBy)).toEqual(["DONE", "REPLAYED", "INTENT_INVALID"]);
    expect((await world.rows()).map(({ tenant }) => tenant)).toEqual(["tenant-of-acme"]);
  },
);

scenario("served over HTTP, ids come from the headers that are mapped", {}, async (world) => {
  const tool = world.tool({
    name: "issue_refund_for_ticket",
    intent: ({ trusted }: { trusted: Record<string, unknown> }) =>
      `refund:${String(trusted["ticket"])}`,
  });
  const connect = await serve(world, {
    tools: [{ tool, name: "issue_refund" }],
    context: { trusted: { ticket: { header: "x-ticket" } } },
  });
  const one = await connect({ ...acme, "x-ticket": "1" });
  const two = await connect({ ...acme, "x-ticket": "2" });
  const answers = [
    await refund(one),
    await refund(two),
    await refund(one, undefined, { ticketId: "2" }),
  ];
  world.assertEffects(2);
  expect(answers.map(toldBy)).toEqual(["DONE", "DONE", "REPLAYED"]);
});

scenario(
  "served over HTTP, a brought intent goes before the tool's own: _meta, header, template",
  {},
  async (world) => {
    const tool = world.tool({
      name: "issue_refund_as_told",
      intent: broughtIntent(({ args }: { args: { orderId: string } }) => `refund:${args.orderId}`),
    });
    const connect = await serve(world, {
      tools: [{ tool, name: "issue_refund" }],
      context: { keyHeaders: ["x-refund-key"] },
    });
    const plain = await connect(acme);
    const header = await connect({ ...acme, "idempotency-key": '"k-1"' });
    const mapped = await connect({ ...acme, "x-refund-key": "k-1" });
    const answers = [
      await refund(header, { intent: "from-meta" }),
      await refund(plain, { intent: "from-meta" }),
      await refund(header),
      await refund(mapped),
      await refund(plain),
      await refund(plain, undefined, { idempotencyKey: "invented", intent: "invented" }),
    ];
    world.assertEffects(3);
    const [done, again] = ["DONE", "REPLAYED"];
    expect(answers.map(toldBy)).toEqual([done, again, done, again, done, again]);
  },
);

scenario(
  "served over HTTP, only the sources that a tool names count, and none is told",
  {},
  async (world) => {
    const tool = world.tool({
      name: "issue_refund_by_meta",
      intent: broughtIntent(undefined, ["meta", "template"]),
    });
    const connect = await serve(world, { tools: [{ tool, name: "issue_refund" }] });
    const agent = await connect({ ...acme, "idempotency-key": "made-anew" });
    const answers = [
      await refund(agent),
      await refund(agent, { intent: "r-1" }),
      await refund(agent, { intent: "r-1" }),
    ];
    world.assertEffects(1);
    expect(answers.map(toldBy)).toEqual(["INTENT_INVALID", "DONE", "REPLAYED"]);
  },
);
