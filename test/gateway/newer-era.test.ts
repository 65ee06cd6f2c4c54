/**
 * What the newer era (2026-07-28) asks of a gateway between an agent and a server: changes are listened
 * for, headers are checked and repeated, and a refusal that is the client's to mend reaches the client.
 */
import type { IncomingMessage } from "node:http";
import { describe, expect, it } from "vitest";
import type { OperationRecord } from "../../src/index.ts";
import { mismatchedHeader, paramHeaders } from "../../src/edges/mcp/param-headers.ts";
import { sqliteSuite } from "../support/stores.ts";
import { callTool, connectAgent, createGatewayWorld, rowsOf } from "./support/gateway-world.ts";
import { post } from "./support/post.ts";
import { changeTools } from "./support/suite-server.ts";
import { guardedTools, serveSuite, startBefore } from "./support/suite-world.ts";

const changing = "test_trigger_tool_change";

/** A gateway before the suite's server, and an agent with the official client. */
async function createSuiteWorld(tools = "") {
  const served = await serveSuite();
  const { url, gateway, opened } = await startBefore(
    sqliteSuite,
    `{ url: "${served.url}" }`,
    tools,
  );
  const count = (requests: readonly IncomingMessage[], method: string): number =>
    requests.filter(({ headers }) => headers["mcp-method"] === method).length;
  const heard = (method: string): number => count(served.requests, method);
  const answered = (method: string): number => count(served.answered, method);
  const rows = (): Promise<readonly OperationRecord[]> => rowsOf(opened);
  return { served, url, gateway, rows, heard, answered, agent: await connectAgent(url) };
}

function postNewer(url: string, method: string, params: object, headers = {}): Promise<Response> {
  const meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  const message = { jsonrpc: "2.0", id: 7, method, params: { ...params, _meta: meta } };
  const era = { "mcp-protocol-version": "2026-07-28", "mcp-method": method };
  return post(url, message, { ...era, ...headers });
}

it("a tool that changes while the gateway runs is held", async () => {
  const world = await createSuiteWorld(`tools:\n  suite/${changing}: { kind: read-only }`);
  const verdict = () => world.gateway.catalogue.entries.get(changing)?.verdict;
  await expect.poll(() => world.heard("subscriptions/listen")).toBe(1);
  await expect.poll(() => world.answered("tools/list")).toBe(2);
  expect(verdict()).toBe("pass");
  await callTool(world.agent, changing, {});
  await expect.poll(verdict).toBe("refused");
});

it("a tool that changed while the stream was broken is held too", async () => {
  const world = await createSuiteWorld(`tools:\n  suite/${changing}: { kind: read-only }`);
  const verdict = () => world.gateway.catalogue.entries.get(changing)?.verdict;
  // A list that is still being made would tell of the change before the stream breaks.
  await expect.poll(() => world.answered("tools/list")).toBe(2);
  changeTools();
  expect(verdict()).toBe("pass");
  world.served.listener.closeAllConnections();
  await expect.poll(verdict).toBe("refused");
  expect(world.heard("subscriptions/listen")).toBe(2);
});

it("a method that nobody knows is not found, in HTTP's words too", async () => {
  const world = await createSuiteWorld();
  const answer = await postNewer(world.url, "acme/unheard-of", {});
  expect(answer.status).toBe(404);
  expect(await answer.json()).toMatchObject({ id: 7, error: { code: -32_601 } });
});

describe.each([
  ["passes", ""],
  [
    "is guarded",
    `tools:
  suite/test_custom_headers:
    kind: non-idempotent
    intent: "headers:{args.region}"
    businessArguments: { region: null }
    freeText: [query]`,
  ],
])("a tool with an argument in a header that %s", (_verdict, tools) => {
  const name = "test_custom_headers";
  const params = { name, arguments: { region: "eu" } };

  it("is called with the header", async () => {
    const world = await createSuiteWorld(tools);
    const answer = await callTool(world.agent, name, { region: "Übersee" });
    expect(answer.content[0]?.text).toContain("Übersee");
    const sent = world.served.requests.map(({ headers }) => headers["mcp-param-region"]);
    expect(sent.filter((each) => each !== undefined)).toEqual(["=?base64?w5xiZXJzZWU=?="]);
  });

  it.each([{}, { "mcp-param-region": "us" }, { "mcp-param-region": "=?base64?ZX=?=" }])(
    "is refused before anything is recorded or sent: %j",
    async (headers) => {
      const world = await createSuiteWorld(tools);
      const answer = await postNewer(world.url, "tools/call", params, {
        "mcp-name": name,
        ...headers,
      });
      expect(answer.status).toBe(400);
      expect(await answer.json()).toMatchObject({ id: 7, error: { code: -32_020 } });
      expect([await world.rows(), world.heard("tools/call")]).toEqual([[], 0]);
    },
  );
});

it("arguments of all depths and kinds have headers, numbers in any spelling", () => {
  const schema = {
    type: "object" as const,
    properties: {
      amount: { type: "integer", "x-mcp-header": "Amount" },
      place: { type: "object", properties: { city: { type: "string", "x-mcp-header": "City" } } },
    },
  };
  const args = { amount: 42, place: { city: "Bonn" } };
  expect(paramHeaders(schema, args)).toEqual({
    "Mcp-Param-Amount": "42",
    "Mcp-Param-City": "Bonn",
  });
  const wrong = (headers: Readonly<Record<string, string>>) =>
    mismatchedHeader(schema, args, (name) => headers[name]);
  expect(wrong({ "Mcp-Param-Amount": "42.0", "Mcp-Param-City": "Bonn" })).toBeUndefined();
  expect(wrong({ "Mcp-Param-Amount": "43", "Mcp-Param-City": "Bonn" })).toBe("Mcp-Param-Amount");
  expect(wrong({ "Mcp-Param-Amount": "42" })).toBe("Mcp-Param-City");
  expect(mismatchedHeader(schema, {}, () => "ignored")).toBeUndefined();
});

it("a capability that the client lacks is told to the client, and leaves no doubt", async () => {
  const world = await createSuiteWorld(guardedTools(["test_missing_capability"]));
  const params = { name: "test_missing_capability", arguments: {} };
  const refused = await postNewer(world.url, "tools/call", params, { "mcp-name": params.name });
  expect(refused.status).toBe(400);
  expect(await refused.json()).toMatchObject({
    error: { code: -32_021, data: { requiredCapabilities: { sampling: {} } } },
  });
  // The same intent, from a client that can: nothing stands in its way.
  const able = await connectAgent(world.url, { capabilities: { sampling: {} } });
  const answer = await callTool(able, params.name, {});
  expect(answer.content[0]?.text).toBe("Sampling is there.");
});

it.each(["legacy", "modern"] as const)(
  "a tool that no server lists is not called, whatever the server would do (%s)",
  async (era) => {
    const world = await createGatewayWorld(sqliteSuite, { config: "unlisted: pass" });
    const agent = await world.connect({ era });
    // The refund server refunds under any name.
    const told = await callTool(agent, "issue_refund_now", {
      order_id: "8812",
      amount_minor: 1,
    }).then(
      ({ isError, content }) => ({ isError, text: content[0]?.text }),
      (error: Error) => ({ isError: "thrown", text: error.message }),
    );
    expect(told).toEqual({
      isError: era === "legacy" ? true : "thrown",
      text: "Unknown tool: issue_refund_now. None of the servers that were reached lists it; nothing was recorded and nothing was sent.",
    });
    world.assertEffects(0);
    expect(await world.rows()).toEqual([]);
  },
);
