/**
 * Sessions for agents of the older era by HTTP: a person can be asked, an answer whose stream broke is
 * fetched, and an id opens nothing to a stranger.
 */
import { type JSONRPCMessage, Server } from "@modelcontextprotocol/server";
import { expect, it, onTestFinished } from "vitest";
import { AgentSessions } from "../../src/gateway/agent-sessions.ts";
import { KeptEvents } from "../../src/gateway/kept-events.ts";
import { connectAgent, gatewayScenario, toldBy } from "./support/gateway-world.ts";
import { post } from "./support/post.ts";
import { approval, decisionsIn, says } from "./support/reviewing.ts";

const sessions = "http: { port: 0, sessions: true }";
const accept = "application/json, text/event-stream";
const initialize = {
  jsonrpc: "2.0",
  id: 0,
  method: "initialize",
  params: {
    protocolVersion: "2025-11-25",
    capabilities: {},
    clientInfo: { name: "raw", version: "1" },
  },
};
const list = { jsonrpc: "2.0", id: 1, method: "tools/list", params: {} };

/** Opens a session, and gives the header that names it. */
async function open(
  url: string,
  headers: Record<string, string> = {},
): Promise<Record<string, string>> {
  const answer = await post(url, initialize, headers);
  await answer.text();
  const id = answer.headers.get("mcp-session-id") ?? "none";
  return { ...headers, "mcp-session-id": id, "mcp-protocol-version": "2025-11-25" };
}

/** The ids of the events in a stream's text, and the JSON of its last message. */
function readStream(text: string): { ids: string[]; last: unknown } {
  const ids = [...text.matchAll(/^id: (.+)$/gm)].map((match) => match[1] ?? "");
  const data = [...text.matchAll(/^data: (\{.+)$/gm)].map((match) => match[1] ?? "");
  return { ids, last: JSON.parse(data.at(-1) ?? "null") };
}

gatewayScenario(
  "the person in front of an agent of the older era is asked",
  { policy: approval, config: `${sessions}\nreview: { elicit: true }` },
  async (world) => {
    const agent = await world.connect({
      era: "legacy",
      capabilities: { elicitation: { form: {} } },
    });
    const shown: string[] = [];
    agent.setRequestHandler("elicitation/create", async ({ params }) => {
      shown.push(String((params as { message: string }).message));
      return says("approve") as never;
    });
    expect(toldBy(await world.refund({}, agent))).toBe("DONE");
    expect(shown).toHaveLength(1);
    expect(await decisionsIn(world)).toHaveLength(1);
    world.assertEffects(1);
  },
);

gatewayScenario(
  "an answer whose stream broke is fetched, and the call is made once",
  { config: sessions },
  async (world) => {
    const { url } = world.service;
    const session = await open(url);
    world.set("hang");
    const params = { name: "issue_refund", arguments: { order_id: "8812", amount_minor: 48_000 } };
    const cut = new AbortController();
    const call = { jsonrpc: "2.0", id: 7, method: "tools/call", params };
    const answer = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json", accept, ...session },
      body: JSON.stringify(call),
      signal: cut.signal,
    });
    const { value } = (await answer.body?.getReader().read()) ?? {};
    const { ids } = readStream(`${new TextDecoder().decode(value)}\ndata: {"none":true}`);
    await expect.poll(() => world.effects().length).toBe(1);
    cut.abort();
    world.clear("hang");
    const resumed = async (): Promise<unknown> => {
      const more = { accept, "last-event-id": ids.at(-1) ?? "", ...session };
      const stream = await fetch(url, { headers: more });
      const reader = stream.body?.getReader();
      const read = await reader?.read();
      await reader?.cancel();
      return readStream(new TextDecoder().decode(read?.value)).last;
    };
    await expect.poll(resumed).toMatchObject({ id: 7, result: {} });
    expect(toldBy(await world.refund())).toBe("REPLAYED");
    world.assertEffects(1);
  },
);

gatewayScenario(
  "a session is its token's own, and a request without one is served as before",
  {
    config: `http:
  port: 0
  sessions: true
  tokens: [{ token: "\${TOKEN_ACME}", tenant: acme }, { token: "\${TOKEN_BIRCH}", tenant: birch }]`,
    agent: { headers: { authorization: "Bearer acme-token-0123456789" } },
  },
  async (world) => {
    const { url } = world.service;
    const bearer = (token: string) => ({ authorization: `Bearer ${token}-token-0123456789` });
    const session = await open(url, bearer("acme"));
    const statuses = [
      (await post(url, list, session)).status,
      (await post(url, list, { ...session, ...bearer("birch") })).status,
      (await post(url, list, { ...session, "mcp-session-id": "made-up" })).status,
      (await post(url, list, bearer("birch"))).status,
      (await fetch(url, { method: "DELETE", headers: session })).status,
      (await post(url, list, session)).status,
    ];
    expect(statuses).toEqual([200, 404, 404, 200, 200, 404]);
    const agents = await Promise.all(
      [0, 1].map(() => connectAgent(url, { era: "legacy", headers: bearer("acme") })),
    );
    const told = await Promise.all(agents.map((agent) => world.refund({}, agent)));
    expect(told.map(toldBy).toSorted()).toEqual(["DONE", "REPLAYED"]);
    world.assertEffects(1);
  },
);

function sessionsWith(more: { idleMs?: number; most?: number }): AgentSessions {
  const all = new AgentSessions({
    createServer: () => new Server({ name: "s", version: "1" }, { capabilities: {} }),
    requestBytes: 10_000,
    ...more,
  });
  onTestFinished(() => all.close());
  return all;
}

const request = (body: unknown, headers: Record<string, string> = {}): Request =>
  new Request("http://127.0.0.1/mcp", {
    method: "POST",
    headers: { "content-type": "application/json", accept, ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });

it("sessions that nobody uses end, and of too many the one that was quiet longest", async () => {
  const few = sessionsWith({ most: 2 });
  const ids: string[] = [];
  for (let count = 0; count < 3; count += 1) {
    const answer = await few.fetch(request(initialize));
    ids.push(answer.headers.get("mcp-session-id") ?? "");
    // The first is heard of once more, so the second is the quiet one.
    if (count === 1) await few.fetch(request(list, { "mcp-session-id": ids[0] ?? "" }));
  }
  const statuses = await Promise.all(
    ids.map(async (id) => (await few.fetch(request(list, { "mcp-session-id": id }))).status),
  );
  expect([statuses, few.size]).toEqual([[200, 404, 200], 2]);

  const quiet = sessionsWith({ idleMs: 0 });
  const opened = await quiet.fetch(request(initialize));
  const id = opened.headers.get("mcp-session-id") ?? "";
  expect((await quiet.fetch(request(list, { "mcp-session-id": id }))).status).toBe(404);
});

it("what is no JSON opens no session", async () => {
  const all = sessionsWith({});
  expect((await all.fetch(request("{"))).status).toBe(400);
  expect(all.size).toBe(0);
});

it("events are kept up to a number, each stream's apart", async () => {
  const kept = new KeptEvents(3);
  const message = (id: number): JSONRPCMessage => ({ jsonrpc: "2.0", id, result: {} });
  const first = await kept.storeEvent("a", {} as JSONRPCMessage);
  const second = await kept.storeEvent("b", message(1));
  await kept.storeEvent("a", message(2));
  const sent: unknown[] = [];
  const send = async (_id: string, event: JSONRPCMessage): Promise<void> => void sent.push(event);
  expect(await kept.replayEventsAfter(first, { send })).toBe("a");
  expect(sent).toEqual([message(2)]);
  await kept.storeEvent("a", message(3));
  expect(await kept.getStreamIdForEventId(first)).toBeUndefined();
  expect(await kept.getStreamIdForEventId(second)).toBe("b");
  await expect(kept.replayEventsAfter(first, { send })).rejects.toThrow("not kept");
});
