/**
 * The standing proxy of `nevertwice chaos`: any client in front, any server behind, and faults by a
 * seed. The ledger of the server tells what each did.
 */
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { expect, it, onTestFinished } from "vitest";
import { callTool, connectAgent } from "../gateway/support/gateway-world.ts";
import { refundServer, refundUrl } from "../gateway/support/servers.ts";
import { builtMain, startCli } from "./run-cli.ts";

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), "nevertwice-chaos-"));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

function effectsIn(place: string): number {
  const ledger = join(place, "ledger.jsonl");
  return existsSync(ledger) ? readFileSync(ledger, "utf8").trim().split("\n").length : 0;
}

const args = { order_id: "8812", amount_minor: 48_000 };

/** The official client at a proxy on standard input and output. */
async function connectByPipe(
  place: string,
  options: readonly string[],
): Promise<{ client: Client; closed: Promise<void>; said: () => string }> {
  let said = "";
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [builtMain(), "chaos", ...options, "--", process.execPath, refundServer()],
    env: { LEDGER_FOLDER: place },
    stderr: "pipe",
  });
  transport.stderr?.on("data", (chunk: Buffer) => (said += chunk.toString("utf8")));
  const client = new Client({ name: "agent", version: "1.0.0" });
  const closed = new Promise<void>((resolve) => Object.assign(client, { onclose: resolve }));
  await client.connect(transport);
  onTestFinished(() => client.close());
  return { client, closed, said: () => said };
}

/** A proxy at a port; gives its URL. */
async function listen(place: string, options: readonly string[]): Promise<string> {
  const child = startCli(["chaos", "--json", "--listen", "0", "--rate", "1", ...options], {
    env: { LEDGER_FOLDER: place },
  });
  onTestFinished(async () => {
    const ended = once(child, "close");
    child.kill("SIGTERM");
    await ended;
    expect(child.exitCode).toBe(0);
  });
  const [printed] = (await once(child.stdout ?? child, "data")) as [Buffer];
  return (JSON.parse(printed.toString("utf8")) as { url: string }).url;
}

it("over a pipe one call arrives twice, and the client gets its one answer", async () => {
  const place = folder();
  const { client, said } = await connectByPipe(place, ["--rate", "1", "--faults", "duplicated"]);
  const answer = await callTool(client, "issue_refund", args);
  expect(answer.structuredContent).toMatchObject({ order_id: "8812" });
  await expect.poll(() => effectsIn(place)).toBe(2);
  await expect.poll(said).toContain("call 1, issue_refund: duplicated");
});

it("over a pipe a kill ends the client's connection after the effect", async () => {
  const place = folder();
  const { client, closed } = await connectByPipe(place, ["--rate", "1", "--faults", "killed"]);
  await expect(callTool(client, "issue_refund", args)).rejects.toThrow();
  await closed;
  expect(effectsIn(place)).toBe(1);
});

it("a seed strikes the same calls again", async () => {
  const struck = async (seed: string): Promise<string> => {
    const options = ["--seed", seed, "--faults", "none,duplicated", "--rate", "0.5"];
    const { client, said } = await connectByPipe(folder(), options);
    for (let call = 0; call < 12; call += 1) await callTool(client, "list_refunds", {});
    await expect.poll(said).toMatch(/call 12, .*\n/);
    return said();
  };
  const [first, again, other] = [await struck("7"), await struck("7"), await struck("8")];
  expect(again).toBe(first);
  expect(other.replace("seed 8", "seed 7")).not.toBe(first);
  expect(first).toContain(": none");
  expect(first).toContain(": duplicated");
});

it.each([
  ["unavailable-before", 503, 0],
  ["unavailable-after", 503, 1],
] as const)("%s is a real HTTP %d, with %d effects", async (fault, status, effects) => {
  const place = folder();
  const url = await listen(place, ["--faults", fault, "--url", await refundUrl(place)]);
  const agent = await connectAgent(url);
  await expect(callTool(agent, "issue_refund", args)).rejects.toMatchObject({ status });
  expect(effectsIn(place)).toBe(effects);
});

it("a reply that is late reaches nobody who has stopped waiting", async () => {
  const place = folder();
  const options = ["--faults", "timed-out", "--hold-ms", "60000"];
  const url = await listen(place, [...options, "--url", await refundUrl(place)]);
  const agent = await connectAgent(url);
  const call = agent.callTool({ name: "issue_refund", arguments: args }, { timeout: 500 });
  await expect(call).rejects.toMatchObject({ code: "REQUEST_TIMEOUT" });
  await expect.poll(() => effectsIn(place)).toBe(1);
});

it.each(["legacy", "modern"] as const)(
  "a command stands behind a port; killed, it is started again (%s)",
  async (era) => {
    const place = folder();
    const command = ["--", process.execPath, refundServer()];
    const url = await listen(place, ["--faults", "killed", ...command]);
    const agent = await connectAgent(url, { era });
    await expect(callTool(agent, "issue_refund", args)).rejects.toThrow();
    expect(effectsIn(place)).toBe(1);
    const another = await connectAgent(url, { era });
    expect((await another.listTools()).tools).toHaveLength(2);
  },
);

it("what is no call of a tool passes unbroken, and a lost session is told as one", async () => {
  const place = folder();
  const url = await listen(place, [
    "--faults",
    "reply-lost",
    "--",
    process.execPath,
    refundServer(),
  ]);
  const client = new Client({ name: "agent", version: "1.0.0" });
  const transport = new StreamableHTTPClientTransport(new URL(url));
  await client.connect(transport);
  expect((await client.listTools()).tools).toHaveLength(2);
  await transport.terminateSession();
  const headers = { "content-type": "application/json", "mcp-session-id": "gone" };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" });
  expect((await fetch(url, { method: "POST", headers, body })).status).toBe(404);
  await client.close();
});
