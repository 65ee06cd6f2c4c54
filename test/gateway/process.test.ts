/**
 * The gateway as people run it: a process on standard input and output, killed in mid-call and
 * started again. One effect, and the next call tells the truth.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { expect, it, onTestFinished } from "vitest";
import { builtMain, storeArgs } from "../cli/run-cli.ts";
import { ageOperations } from "../support/ageing.ts";
import { describeStores, sqliteSuite } from "../support/stores.ts";
import { callTool, lookedUp, refundPins, toldBy } from "./support/gateway-world.ts";
import { refundServer } from "./support/servers.ts";

function configText(folder: string): string {
  return `
context: { tenant: { value: acme } }
upstreams:
  shop:
    command: ${process.execPath}
    args: [${refundServer()}]
    env: { LEDGER_FOLDER: ${folder} }
tools:
  shop/issue_refund:
    kind: non-idempotent
    intent: refund:{args.order_id}
    businessArguments: { order_id: trim, amount_minor: null, currency: upper-case }
    freeText: [reason]
    timeout: 60s
${lookedUp}
  shop/list_refunds: { kind: read-only }
`;
}

it("a request that is too large ends the process, so that nobody waits for a deaf one", async () => {
  const opened = await sqliteSuite.open();
  const folder = mkdtempSync(join(tmpdir(), "nevertwice-gateway-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const config = join(folder, "nevertwice.yaml");
  writeFileSync(config, `limits: { requestBytes: 10000 }${configText(folder)}`);
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [builtMain(), "gateway", "--config", config, "--stdio", ...storeArgs(opened)],
    stderr: "ignore",
  });
  const client = new Client({ name: "agent", version: "1.0.0" });
  onTestFinished(() => client.close());
  await client.connect(transport);
  const args = { order_id: "8812", amount_minor: 48_000, reason: "x".repeat(20_000) };
  await expect(callTool(client, "issue_refund", args)).rejects.toThrow(/closed/i);
});

describeStores("a gateway process", (suite) => {
  it("that is killed in mid-call leaves one effect, and the next one finds it", async () => {
    const opened = await suite.open();
    const folder = mkdtempSync(join(tmpdir(), "nevertwice-gateway-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const config = join(folder, "nevertwice.yaml");
    writeFileSync(config, configText(folder));
    const tools = Object.fromEntries(await refundPins());
    writeFileSync(join(folder, "nevertwice.lock.json"), JSON.stringify({ version: 1, tools }));
    const effects = (): number => {
      try {
        return readFileSync(join(folder, "ledger.jsonl"), "utf8").trim().split("\n").length;
      } catch {
        return 0;
      }
    };
    const start = async (): Promise<{ client: Client; transport: StdioClientTransport }> => {
      const transport = new StdioClientTransport({
        command: process.execPath,
        args: [builtMain(), "gateway", "--config", config, "--stdio", ...storeArgs(opened)],
        stderr: "ignore",
      });
      const client = new Client({ name: "agent", version: "1.0.0" });
      await client.connect(transport);
      onTestFinished(() => client.close());
      return { client, transport };
    };
    const args = { order_id: "8812", amount_minor: 48_000 };

    writeFileSync(join(folder, "hang"), "");
    const first = await start();
    const lost = callTool(first.client, "issue_refund", args).catch(() => "lost");
    await expect.poll(effects).toBe(1);
    process.kill(first.transport.pid ?? 0, "SIGKILL");
    expect(await lost).toBe("lost");
    rmSync(join(folder, "hang"));
    // The lease of the dead is over.
    await ageOperations(opened, 120_000);

    const second = await start();
    const answer = await callTool(second.client, "issue_refund", { ...args, reason: "again" });
    expect(toldBy(answer)).toBe("REPLAYED");
    expect(answer.structuredContent).toMatchObject({ id: "re_1" });
    expect(effects()).toBe(1);
  });
});
