/**
 * Operating the gateway: tokens, limits, health, reload, servers that are away, both transports to
 * servers and both eras of agents.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { toNodeHandler } from "@modelcontextprotocol/node";
import { Server, createMcpHandler } from "@modelcontextprotocol/server";
import { pino } from "pino";
import { expect, it, onTestFinished } from "vitest";
import { createGuard } from "../../src/index.ts";
import { readConfig } from "../../src/gateway/config/load-config.ts";
import { startGateway } from "../../src/gateway/gateway.ts";
import { inspectServer } from "../../src/gateway/inspect.ts";
import { serveAgentsOnHttp } from "../../src/gateway/serve-http.ts";
import { sqliteSuite } from "../support/stores.ts";
import { callTool, createGatewayWorld, toldBy } from "./support/gateway-world.ts";
import { post } from "./support/post.ts";

const tokens = `http:
  port: 0
  tokens: [{ token: "\${TOKEN_ACME}", tenant: acme }]`;
const agent = { headers: { authorization: "Bearer acme-token-0123456789" } };
const call = { jsonrpc: "2.0", id: 1, method: "tools/list", params: {} };

it("a request without a known token is turned away, and a page of another host as well", async () => {
  const { service } = await createGatewayWorld(sqliteSuite, { config: tokens, agent });
  const statuses = [
    (await post(service.url, call)).status,
    (await post(service.url, call, { authorization: "Bearer wrong" })).status,
    (await post(service.url, call, agent.headers)).status,
    (await post(service.url, call, { ...agent.headers, origin: "https://evil.example" })).status,
    (await post(service.url.replace("/mcp", "/other"), call, agent.headers)).status,
  ];
  expect(statuses).toEqual([401, 401, 200, 403, 404]);
});

it("a tenant that the token does not stand for is refused", async () => {
  const world = await createGatewayWorld(sqliteSuite, { config: tokens, agent });
  const answer = await world.refund({}, world.agent, {
    "dev.nevertwice/context": { tenant: "umbrella" },
  });
  expect(toldBy(answer)).toBe("INTENT_INVALID");
  world.assertEffects(0);
});

it("a request that is too large is turned away before it is read", async () => {
  const { service } = await createGatewayWorld(sqliteSuite, {
    config: "limits: { requestBytes: 1000 }",
  });
  const big = { ...call, params: { text: "x".repeat(2000) } };
  expect((await post(service.url, big)).status).toBe(413);
});

it("a reload changes the policy, keeps the server and the call that is under way", async () => {
  const world = await createGatewayWorld(sqliteSuite, {});
  world.set("hang");
  const running = world.refund();
  await expect.poll(() => world.effects().length).toBe(1);
  const { config } = world.gateway;
  const policies = new Map(config.policies);
  policies.delete("shop/issue_refund");
  const reloading = world.gateway.reload({ ...config, policies });
  await reloading;
  const refused = await world.refund();
  world.clear("hang");
  expect(toldBy(await running)).toBe("DONE");
  expect(toldBy(refused)).toBe("TOOL_UNLISTED");
  await world.gateway.reload(config);
  expect(toldBy(await world.refund())).toBe("REPLAYED");
  world.assertEffects(1);
});

it("a server that can't be reached shows in readiness, leaves the others at work, and its tools say that nothing was sent", async () => {
  const world = await createGatewayWorld(sqliteSuite, {});
  const { config } = world.gateway;
  const away = { ...config.upstreams.get("shop"), name: "away", command: "/no/such/server" };
  const policy = { ...config.policies.get("shop/issue_refund"), upstream: "away", tool: "pay" };
  await world.gateway.reload({
    ...config,
    upstreams: new Map([...config.upstreams, ["away", away as never]]),
    policies: new Map([...config.policies, ["away/pay", policy as never]]),
  });
  const base = world.service.url.replace("/mcp", "");
  const looks = await Promise.all(["/healthz", "/readyz"].map((path) => fetch(`${base}${path}`)));
  expect(looks.map(({ status }) => status)).toEqual([200, 503]);
  const servers = { shop: "up", away: expect.stringMatching(/down|connecting/) };
  expect(await looks[1]?.json()).toEqual({ ready: false, servers });
  expect(toldBy(await callTool(world.agent, "pay", {}))).toBe("NOT_SENT");
  expect(toldBy(await world.refund())).toBe("DONE");
  await world.gateway.reload(config);
  expect((await fetch(`${base}/readyz`)).status).toBe(200);
});

it("an agent of the older era is served too, and one that brings its key by header", async () => {
  const world = await createGatewayWorld(sqliteSuite, {});
  const old = await world.connect({ era: "legacy" });
  const answers = [await world.refund({}, old), await world.refund()];
  const keyed = await world.connect({ headers: { "idempotency-key": '"k-1"' } });
  answers.push(await world.refund({}, keyed), await world.refund({}, keyed));
  expect(answers.map(toldBy)).toEqual(["DONE", "REPLAYED", "DONE", "REPLAYED"]);
  world.assertEffects(2);
});

/** A server by HTTP that counts its effects and keeps what it was sent. */
async function startRemote(): Promise<{ url: string; sent: unknown[]; headers: Headers[] }> {
  const sent: unknown[] = [];
  const headers: Headers[] = [];
  const handler = createMcpHandler(() => {
    const server = new Server({ name: "remote", version: "1" }, { capabilities: { tools: {} } });
    const inputSchema = {
      type: "object",
      properties: { id: { type: "string", "x-mcp-header": "Order" } },
      required: ["id"],
    };
    server.fallbackRequestHandler = async ({ method, params }, ctx) => {
      if (method === "tools/list") return { tools: [{ name: "pay", inputSchema }] };
      sent.push(params);
      if (ctx.http?.req !== undefined) headers.push(ctx.http.req.headers);
      return {
        content: [
          { type: "text", text: "paid" },
          { type: "vendor-block", extra: 1 },
        ],
      };
    };
    return server;
  });
  const answer = toNodeHandler(handler);
  const http = createServer((request, response) => void answer(request as never, response));
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    await handler.close();
    http.closeAllConnections();
    http.close();
  });
  return { url: `http://127.0.0.1:${(http.address() as AddressInfo).port}`, sent, headers };
}

it.each(["auto", "legacy"])(
  "a server by HTTP (%s) gets the key in a header, once, and its unknown content survives",
  async (protocol) => {
    const remote = await startRemote();
    const text = `
context: { tenant: { value: acme } }
upstreams: { bank: { url: "${remote.url}", protocol: ${protocol} } }
tools:
  bank/pay:
    kind: non-idempotent
    intent: pay:{args.id}
    businessArguments: { id: trim }
    key: { header: Idempotency-Key }`;
    const config = readConfig(join("/tmp", "nevertwice.yaml"), text, {});
    const [spec] = [...config.upstreams.values()];
    if (spec === undefined) throw new Error("the configuration has a server");
    const pins = new Map((await inspectServer(spec, "0")).map(({ name, hash }) => [name, hash]));
    const log = pino({ level: "silent" });
    const { store } = await sqliteSuite.open();
    const gateway = await startGateway({
      config,
      readPins: () => pins,
      store,
      log,
      version: "0",
      createGuard,
    });
    const http = { host: "127.0.0.1", port: 0, path: "/mcp", tokens: [] };
    const service = await serveAgentsOnHttp(gateway, http, "0", log);
    onTestFinished(async () => {
      await gateway.close();
      await service.close();
    });
    const payload = {
      jsonrpc: "2.0",
      id: 5,
      method: "tools/call",
      params: { name: "pay", arguments: { id: "7 " } },
    };
    const [first, second] = [await post(service.url, payload), await post(service.url, payload)];
    const bodies = [await first.text(), await second.text()];
    expect(bodies.every((body) => body.includes('"vendor-block"'))).toBe(true);
    expect(bodies[1]).toContain("Already done");
    expect(remote.sent).toHaveLength(1);
    expect(remote.sent[0]).toMatchObject({ name: "pay", arguments: { id: "7" } });
    expect(remote.headers[0]?.get("idempotency-key")).toMatch(/^[0-9a-f-]{36}$/);
    expect(remote.headers[0]?.get("mcp-param-order")).toBe(protocol === "auto" ? "7" : null);
  },
);
