/**
 * What servers ask agents while they work on a call, and agents of the older era: one connection, the
 * client's own answers, and no second effect for a question.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { expect, it, onTestFinished } from "vitest";
import { readConfig } from "../../src/gateway/config/load-config.ts";
import { type Gateway, startGateway } from "../../src/gateway/gateway.ts";
import { openSqlite } from "../support/stores.ts";
import { connectOldAgent } from "./support/asked-agent.ts";
import { callTool, createGatewayWorld, toldBy } from "./support/gateway-world.ts";
import { everything } from "./support/servers.ts";

it("an agent of the older era is asked while it waits, and its call is one effect", async () => {
  const opened = await openSqlite();
  onTestFinished(() => opened.close());
  const world = await createGatewayWorld({ kind: "sqlite", open: async () => opened }, {});
  world.set("ask");
  let asked = 0;
  const agent = await connectOldAgent(world.gateway, () => {
    asked += 1;
    return { action: "accept", content: { sure: true } };
  });
  const first = await world.refund({}, agent);
  const second = await world.refund({}, agent);
  expect([asked, toldBy(first), toldBy(second)]).toEqual([1, "DONE", "REPLAYED"]);
  world.assertEffects(1);
});

async function startEverything(requests: string): Promise<Gateway> {
  const opened = await openSqlite();
  const folder = mkdtempSync(join(tmpdir(), "nevertwice-everything-"));
  const text = `
unlisted: pass
upstreams:
  all: { command: "${process.execPath}", args: ["${everything}", stdio], requests: [${requests}] }`;
  writeFileSync(join(folder, "nevertwice.yaml"), text);
  const gateway = await startGateway({
    config: readConfig(join(folder, "nevertwice.yaml"), text, {}),
    readPins: () => new Map(),
    store: opened.store,
    log: pino({ level: "silent" }),
    version: "0",
  });
  onTestFinished(async () => {
    await gateway.close();
    await opened.close();
    rmSync(folder, { recursive: true, force: true });
  });
  return gateway;
}

it("a server of the older era asks the one agent whose call it works on", async () => {
  const gateway = await startEverything("elicitation");
  let asked = 0;
  const agent = await connectOldAgent(gateway, () => {
    asked += 1;
    return { action: "decline" };
  });
  const answer = await callTool(agent, "trigger-elicitation-request", {});
  expect(asked).toBe(1);
  expect(JSON.stringify(answer.content)).toMatch(/declined/i);
});

it("a server that was not told of a capability can't ask for it", async () => {
  const gateway = await startEverything("");
  const { tools } = gateway.listTools() as { tools: { name: string }[] };
  expect(tools.map(({ name }) => name)).not.toContain("trigger-elicitation-request");
});
