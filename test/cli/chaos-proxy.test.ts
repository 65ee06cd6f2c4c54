/**
 * The standing proxy of `nevertwice chaos`: any client in front, any server behind, and faults by a
 * seed. The ledger of the server tells what each did.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { expect, it, onTestFinished } from "vitest";
import { callTool, connectAgent } from "../gateway/support/gateway-world.ts";
import { refundServer, refundUrl } from "../gateway/support/servers.ts";
import { chaosFolder, effectsIn, listeningProxy, pipedProxy } from "./chaos-proxies.ts";

const args = { order_id: "8812", amount_minor: 48_000 };

/** The official client at a proxy on standard input and output. */
async function connectByPipe(
  place: string,
  options: readonly string[],
): Promise<{ client: Client; closed: Promise<void>; said: () => string }> {
  const command = ["--", process.execPath, refundServer()];
  const { transport, said } = pipedProxy([...options, ...command], { LEDGER_FOLDER: place });
  const client = new Client({ name: "agent", version: "1.0.0" });
  const closed = new Promise<void>((resolve) => Object.assign(client, { onclose: resolve }));
  await client.connect(transport);
  onTestFinished(() => client.close());
  return { client, closed, said };
}

/** A proxy at a port that strikes every call; gives its URL. */
function listen(place: string, options: readonly string[]): Promise<string> {
  return listeningProxy(["--rate", "1", ...options], { LEDGER_FOLDER: place });
}

it("over a pipe one call arrives twice, and the client gets its one answer", async () => {
  const place = chaosFolder();
  const { client, said } = await connectByPipe(place, ["--rate", "1", "--faults", "duplicated"]);
  const answer = await callTool(client, "issue_refund", args);
  expect(answer.structuredContent).toMatchObject({ order_id: "8812" });
  await expect.poll(() => effectsIn(place)).toBe(2);
  await expect.poll(said).toContain("call 1, issue_refund: duplicated");
});

it("over a pipe a kill ends the client's connection after the effect", async () => {
  const place = chaosFolder();
  const { client, closed } = await connectByPipe(place, ["--rate", "1", "--faults", "killed"]);
  await expect(callTool(client, "issue_refund", args)).rejects.toThrow();
  await closed;
  expect(effectsIn(place)).toBe(1);
});

it("a seed strikes the same calls again", async () => {
  const struck = async (seed: string): Promise<string> => {
    const options = ["--seed", seed, "--faults", "none,duplicated", "--rate", "0.5"];
    const { client, said } = await connectByPipe(chaosFolder(), options);
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
  const place = chaosFolder();
  const url = await listen(place, ["--faults", fault, "--url", await refundUrl(place)]);
  const agent = await connectAgent(url);
  await expect(callTool(agent, "issue_refund", args)).rejects.toMatchObject({ status });
  expect(effectsIn(place)).toBe(effects);
});

it("a reply that is late reaches nobody who has stopped waiting", async () => {
  const place = chaosFolder();
  const options = ["--faults", "timed-out", "--hold-ms", "60000"];
  const url = await listen(place, [...options, "--url", await refundUrl(place)]);
  const agent = await connectAgent(url);
  const patience = new AbortController();
  const { signal } = patience;
  const call = agent.callTool({ name: "issue_refund", arguments: args }, { signal });
  const giveUp = async (): Promise<void> => {
    await expect.poll(() => effectsIn(place)).toBe(1);
    // A reply that nobody holds would be here before this one.
    await agent.listTools();
    patience.abort("waited long enough");
  };
  await Promise.all([giveUp(), expect(call).rejects.toMatchObject({ code: "REQUEST_TIMEOUT" })]);
});

it.each(["legacy", "modern"] as const)(
  "a command stands behind a port; killed, it is started again (%s)",
  async (era) => {
    const place = chaosFolder();
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
  const place = chaosFolder();
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

it("over a pipe a URL that nobody listens at is told, and not waited for", async () => {
  const { transport } = pipedProxy(["--url", "http://127.0.0.1:9/mcp"]);
  const client = new Client({ name: "agent", version: "1.0.0" });
  onTestFinished(() => client.close());
  await expect(client.connect(transport)).rejects.toThrow("what it did is unknown");
});

it("a header of the command line reaches the server at the URL", async () => {
  const seen: unknown[] = [];
  const server = createServer(({ headers }, response) => {
    seen.push(headers.authorization);
    response.writeHead(401).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const { transport } = pipedProxy([
    "--url",
    `http://127.0.0.1:${port}/mcp`,
    "--header",
    "Authorization: Bearer of-the-test",
  ]);
  const client = new Client({ name: "agent", version: "1.0.0" });
  onTestFinished(() => client.close());
  await expect(client.connect(transport)).rejects.toThrow("No reply came");
  expect(seen).toEqual(["Bearer of-the-test"]);
});
