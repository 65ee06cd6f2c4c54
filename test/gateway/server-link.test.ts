/**
 * The way of `nevertwice chaos` to a server: whose message is whose, when clients that don't know each
 * other share one server and name their requests alike.
 */
import {
  InMemoryTransport,
  type JSONRPCMessage,
  type JSONRPCRequest,
  PROTOCOL_VERSION_META_KEY,
  SUBSCRIPTION_ID_META_KEY,
} from "@modelcontextprotocol/client";
import { expect, it } from "vitest";
import { ServerLink } from "../../src/gateway/chaos/server-link.ts";

interface Linked {
  readonly link: ServerLink;
  /** What the server got. */
  readonly got: JSONRPCMessage[];
  readonly say: (message: object) => Promise<void>;
  /** What belongs to no request. */
  readonly unasked: JSONRPCMessage[];
}

async function linked(): Promise<Linked> {
  const [transport, server] = InMemoryTransport.createLinkedPair();
  const got: JSONRPCMessage[] = [];
  const unasked: JSONRPCMessage[] = [];
  Object.assign(server, { onmessage: (message: JSONRPCMessage) => got.push(message) });
  await server.start();
  const onMessage = (message: JSONRPCMessage): void => void unasked.push(message);
  const link = await ServerLink.start({ transport, onMessage, kill: () => {} });
  const say = (message: object) => server.send({ jsonrpc: "2.0", ...message } as JSONRPCMessage);
  return { link, got, say, unasked };
}

function asking(method: string, meta: Readonly<Record<string, unknown>>): JSONRPCRequest {
  return { jsonrpc: "2.0", id: 1, method, params: { _meta: { ...meta } } };
}

it("progress and replies reach the one who asked, under the names that it gave", async () => {
  const { link, got, say, unasked } = await linked();
  const heard: [string, JSONRPCMessage][] = [];
  const replies = ["ann", "ben"].map((who) =>
    link.request(asking("tools/call", { progressToken: 7 }), {
      hear: (message) => heard.push([who, message]),
    }),
  );
  const [, ben] = got as JSONRPCRequest[];
  expect(new Set(got.map((message) => (message as JSONRPCRequest).id)).size).toBe(2);
  const { progressToken } = (ben?.params?.["_meta"] ?? {}) as { progressToken?: unknown };
  await say({ method: "notifications/progress", params: { progressToken, progress: 1 } });
  expect(heard).toEqual([
    ["ben", expect.objectContaining({ params: { progressToken: 7, progress: 1 } })],
  ]);
  for (const request of got as JSONRPCRequest[])
    await say({ id: request.id, result: { for: request.id } });
  for (const reply of await Promise.all(replies)) expect(reply).toMatchObject({ id: 1 });
  await say({ method: "notifications/message", params: { level: "info", data: "x" } });
  expect(unasked).toHaveLength(1);
});

it("a subscription of the newer era is named as its client named it", async () => {
  const { link, got, say } = await linked();
  const heard: JSONRPCMessage[] = [];
  const listening = asking("subscriptions/listen", { [PROTOCOL_VERSION_META_KEY]: "2026-07-28" });
  const ended = link.request(listening, { hear: (message) => heard.push(message) });
  const id = (got[0] as JSONRPCRequest).id;
  const ours = { _meta: { [SUBSCRIPTION_ID_META_KEY]: id } };
  await say({ method: "notifications/tools/list_changed", params: ours });
  await say({ id, result: ours });
  const named = { _meta: { [SUBSCRIPTION_ID_META_KEY]: 1 } };
  expect(heard).toEqual([expect.objectContaining({ params: named })]);
  expect(await ended).toEqual({ jsonrpc: "2.0", id: 1, result: named });
});

it("a withdrawal names the request as the server knows it", async () => {
  const { link, got } = await linked();
  void link.request(asking("tools/call", {}));
  const params = { requestId: 1, reason: "enough" };
  await link.pass({ jsonrpc: "2.0", method: "notifications/cancelled", params });
  const requestId = (got[0] as JSONRPCRequest).id;
  expect(requestId).not.toBe(1);
  expect(got[1]).toMatchObject({ params: { requestId, reason: "enough" } });
});

it("when the server ends, nobody waits for a reply any more", async () => {
  const { link } = await linked();
  const reply = link.request(asking("tools/call", {}));
  await link.close();
  await link.ended;
  await expect(reply).rejects.toThrow("ended");
});
