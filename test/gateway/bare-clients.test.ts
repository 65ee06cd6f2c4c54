/**
 * Clients of others, unchanged, straight at a bare server whose replies get lost on the way: they
 * repeat by themselves, and the server's ledger holds two and three refunds for one call. Behind the
 * gateway the same clients make one: other-clients.test.ts.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createMCPClient } from "@ai-sdk/mcp";
import { MCPClient } from "@mastra/mcp";
import { expect, it, onTestFinished } from "vitest";
import { startBreakingProxy } from "./support/breaking-proxy.ts";
import { refundUrl } from "./support/servers.ts";

const args = { order_id: "8812", amount_minor: 48_000 };

/** By default it waits no longer than 3 s, whatever the machine is at. */
const connectTimeout = 60_000;

/** @mastra/mcp connects anew and repeats once, by default. */
async function refundByMastra(url: URL): Promise<void> {
  const client = new MCPClient({ id: url.href, servers: { shop: { url, connectTimeout } } });
  onTestFinished(() => client.disconnect());
  const tools = await client.listTools();
  const execute = tools["shop_issue_refund"]?.execute as
    ((input: unknown, context: unknown) => Promise<unknown>) | undefined;
  await execute?.(args, {});
}

/** @ai-sdk/mcp repeats as often as `maxRetries` says. */
async function refundByAiSdk(url: URL): Promise<void> {
  const transport = { type: "http", url: url.href } as const;
  const client = await createMCPClient({ transport, maxRetries: 2 });
  onTestFinished(() => client.close());
  await client.callTool({ name: "issue_refund", arguments: args });
}

it.each([
  ["@mastra/mcp", refundByMastra, "reset", 1, 2],
  ["@ai-sdk/mcp", refundByAiSdk, "503", 2, 3],
] as const)("%s makes more than one refund at a bare server", async (...row) => {
  const [, refund, breakage, lost, effects] = row;
  const folder = mkdtempSync(join(tmpdir(), "nevertwice-bare-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const proxy = await startBreakingProxy(await refundUrl(folder), breakage, lost);
  await refund(proxy.url);
  expect(proxy.broken()).toBe(lost);
  const ledger = readFileSync(join(folder, "ledger.jsonl"), "utf8").trim().split("\n");
  expect(ledger).toHaveLength(effects);
  expect(
    new Set(ledger.map((line) => (JSON.parse(line) as { order_id: string }).order_id)),
  ).toEqual(new Set(["8812"]));
});
