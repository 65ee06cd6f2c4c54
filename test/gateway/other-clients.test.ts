/**
 * Clients of others, unchanged, that repeat a call by themselves when its answer gets lost: without the
 * guard the refund is made two and three times, behind the gateway once.
 */
import { createMCPClient } from "@ai-sdk/mcp";
import { MCPClient } from "@mastra/mcp";
import { expect, it, onTestFinished } from "vitest";
import { passThroughGuard } from "../support/pass-through.ts";
import { describeStores } from "../support/stores.ts";
import { type BreakingProxy, startBreakingProxy } from "./support/breaking-proxy.ts";
import { type GatewayWorld, createGatewayWorld } from "./support/gateway-world.ts";

const args = { order_id: "8812", amount_minor: 48_000 };

/** By default it waits no longer than 3 s, whatever the machine is at. */
const connectTimeout = 60_000;

/** @mastra/mcp connects anew and repeats once, by default. */
async function refundByMastra(world: GatewayWorld): Promise<BreakingProxy> {
  const proxy = await startBreakingProxy(world.service.url, "reset", 1);
  const client = new MCPClient({
    id: proxy.url.href,
    servers: { shop: { url: proxy.url, connectTimeout } },
  });
  onTestFinished(() => client.disconnect());
  const tools = await client.listTools();
  const execute = tools["shop_issue_refund"]?.execute as
    ((input: unknown, context: unknown) => Promise<unknown>) | undefined;
  await execute?.(args, {});
  return proxy;
}

/** @ai-sdk/mcp repeats as often as `maxRetries` says. */
async function refundByAiSdk(world: GatewayWorld): Promise<BreakingProxy> {
  const proxy = await startBreakingProxy(world.service.url, "503", 2);
  const client = await createMCPClient({
    transport: { type: "http", url: proxy.url.href },
    maxRetries: 2,
  });
  onTestFinished(() => client.close());
  await client.callTool({ name: "issue_refund", arguments: args });
  return proxy;
}

describeStores("clients of others behind the gateway", (suite) => {
  it.each([
    ["@mastra/mcp", refundByMastra, 1],
    ["@ai-sdk/mcp", refundByAiSdk, 2],
  ] as const)("%s repeats by itself, and one refund is made", async (_name, refund, lost) => {
    const world = await createGatewayWorld(suite, {});
    const proxy = await refund(world);
    world.assertEffects(1);
    expect(proxy.broken()).toBe(lost);
  });

  it.each([
    ["@mastra/mcp", refundByMastra, 2],
    ["@ai-sdk/mcp", refundByAiSdk, 3],
  ] as const)("%s makes more than one without the guard", async (_name, refund, effects) => {
    const world = await createGatewayWorld(suite, {}, passThroughGuard);
    // What it is told is no evidence, and may be an error; the ledger judges.
    await refund(world).catch(() => {});
    world.assertEffects(effects);
  });
});
