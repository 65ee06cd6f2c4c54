/**
 * The fetch on real sockets: what it writes, when it says that nothing was written, and what it makes
 * of replies. Broken connections and strange replies are in client-wire.test.ts, the guard around it in
 * client-guard.test.ts.
 */
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { type AddressInfo, createServer as createNetServer } from "node:net";
import { gzipSync } from "node:zlib";
import { Agent } from "undici";
import { expect, it, onTestFinished } from "vitest";
import {
  ReplyError,
  bytesOf,
  classifyReplies,
  createIdempotentFetch,
  textOf,
} from "../../../src/edges/http/index.ts";
import { isNeverTwiceError } from "../../../src/index.ts";
import { type Answer, NotSent, callOf, created, createSend, serve } from "./client-bench.ts";
import { gate } from "./world.ts";

it("sends the operation's key bare, or quoted, or in the field that the provider reads", async () => {
  const server = await serve(created);
  const call = callOf();
  await createSend()(server.url, { json: { b: 1, a: "é" } }, call);
  await createSend({ keyForm: "quoted" })(server.url, { body: "x" }, call);
  await createSend({ header: "PayPal-Request-Id" })(server.url, { method: "PUT" }, call);
  expect(server.arrived.map(({ headers }) => headers["idempotency-key"])).toEqual([
    call.wireKey,
    `"${call.wireKey}"`,
    undefined,
  ]);
  expect(server.arrived[0]).toMatchObject({ method: "POST", body: '{"b":1,"a":"é"}' });
  expect(server.arrived[0]?.headers).toMatchObject({
    "content-type": "application/json",
    "accept-encoding": "identity",
    "content-length": "16",
  });
  expect(server.arrived[2]?.headers["paypal-request-id"]).toBe(call.wireKey);
});

it("gives a reply in the form that is stored: status, bytes and the fields that are kept", async () => {
  const server = await serve((response) => {
    response.writeHead(201, { location: "/r/1", date: "x", "set-cookie": "a=1", "x-id": "7" });
    response.end(Buffer.from([255, 0, 1]));
  });
  const reply = await createSend({ replyHeaders: ["X-Id"] })(server.url, {}, callOf());
  expect(reply).toEqual({
    v: 1,
    status: 201,
    headers: [
      ["location", "/r/1"],
      ["x-id", "7"],
    ],
    body: { base64: "/wAB" },
  });
});

it("asks in the very turn of the socket write, and with a no writes nothing", async () => {
  const server = await serve(created);
  const turns: boolean[] = [];
  const now = { sameTurn: false };
  const written = (): void => void turns.push(now.sameTurn);
  subscribe("undici:client:sendHeaders", written);
  onTestFinished(() => void unsubscribe("undici:client:sendHeaders", written));
  const call = callOf({
    beforeWrite: () => {
      now.sameTurn = true;
      queueMicrotask(() => {
        now.sameTurn = false;
      });
    },
  });
  const send = createSend();
  await send(server.url, { json: {} }, call);
  await send(server.url, { json: {} }, call);
  expect(turns).toEqual([true, true]);

  const before = server.connections.count;
  const late = new Error("too late");
  const refusing = callOf({
    beforeWrite: () => {
      throw late;
    },
  });
  await expect(createSend()(server.url, { json: {} }, refusing)).rejects.toBe(late);
  expect(refusing.unsent).toEqual([]);
  // The connection stood; nothing was written to it.
  expect([server.arrived.length, server.connections.count - before]).toEqual([2, 1]);
});

it.each([
  ["a port where nobody listens", async () => "http://127.0.0.1:1/"],
  ["a name that nobody has", async () => "http://nobody.invalid/"],
  [
    "TLS to a server that speaks none",
    async () => (await serve(created)).url.replace("http", "https"),
  ],
  ["no HTTP at all", async () => "ftp://example.com/"],
  ["no URL at all", async () => "nowhere"],
  [
    "credentials in the URL",
    async () => (await serve(created)).url.replace("http://", "http://user:secret@"),
  ],
])("%s: nothing was written, and that is told as a fact", async (_name, urlOf) => {
  const call = callOf();
  await expect(createSend()(await urlOf(), { json: {} }, call)).rejects.toBeInstanceOf(NotSent);
  expect(call.unsent).toHaveLength(1);
});

it.each([
  ["the key's own field", { headers: { "IDEMPOTENCY-KEY": "mine" } }],
  ["a stream", { body: new ReadableStream() as never }],
  ["a field that HTTP can't carry", { headers: { "x-a": "a\nb" } }],
  ["JSON that isn't any", { json: 1n }],
  ["an amount that is no number", { json: { amount: Number.NaN } }],
  ["a function for JSON", { json: () => 1 }],
  ["two bodies", { json: {}, body: "{}" }],
])("a request with %s is refused before anything is written", async (_name, request) => {
  const server = await serve(created);
  const call = callOf();
  await expect(createSend()(server.url, request, call)).rejects.toBeInstanceOf(NotSent);
  expect(server.arrived).toEqual([]);
});

it("withdrawn before the connection stands: nothing was written, also not later", async () => {
  const caller = new AbortController();
  const heard: Buffer[] = [];
  const connected = gate();
  // Takes connections, and never answers the TLS greeting.
  const server = createNetServer((socket) => {
    socket.on("error", () => {});
    socket.on("data", (chunk) => heard.push(chunk));
    connected.open();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const call = callOf({ signal: caller.signal });
  const send = createIdempotentFetch({ Agent, connectTimeoutMs: 300 });
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const sending = send(url, { body: "SECRET" }, call);
  await connected.wait;
  caller.abort(new Error("changed my mind"));
  await expect(sending).rejects.toBeInstanceOf(NotSent);
  await send.close();
  expect(Buffer.concat(heard).toString("latin1")).not.toContain("SECRET");
  await expect(createSend()(url, {}, call)).rejects.toBeInstanceOf(NotSent);
});

const lost: readonly (readonly [name: string, answer: Answer])[] = [
  ["a cut before the reply", (response) => response.destroy()],
  [
    "a body that is shorter than it says",
    (response) => {
      response.writeHead(201, { "content-length": "10" });
      response.write("12345");
      setImmediate(() => response.destroy());
    },
  ],
  [
    "a reply that isn't HTTP",
    (_response, _count, request) => request.socket.end("nonsense\r\n\r\n"),
  ],
];

it.each(lost)(
  "%s leaves the outcome unknown: it is sent once, and nobody says that it wasn't",
  async (_name, answer) => {
    const server = await serve(answer);
    const call = callOf();
    const error: unknown = await createSend({ resends: true })(
      server.url,
      { json: {} },
      call,
    ).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(Error);
    expect(error).not.toBeInstanceOf(NotSent);
    expect(classifyReplies({ definitive: [400] })(error)).toBe("unknown");
    expect([server.arrived.length, call.unsent.length]).toEqual([1, 0]);
  },
);

it("withdrawn after the write: unknown, and not sent again", async () => {
  const caller = new AbortController();
  const server = await serve(() => caller.abort(new Error("timeout")));
  const call = callOf({ signal: caller.signal });
  await expect(createSend({ resends: true })(server.url, {}, call)).rejects.toThrow("timeout");
  expect([server.arrived.length, call.unsent.length]).toEqual([1, 0]);
});

it("a connection that is closed while it idles costs no second send", async () => {
  const server = await serve((response, count, request) => {
    created(response, count, request);
    if (count === 1) response.on("finish", () => request.socket.end());
  });
  const send = createSend();
  for (let round = 1; round <= 3; round += 1) await send(server.url, { json: {} }, callOf());
  expect(server.arrived).toHaveLength(3);
});

it("a redirect is not followed, with or without a body", async () => {
  const other = await serve(created);
  for (const status of [301, 302, 303, 307, 308]) {
    const server = await serve((response) =>
      response.writeHead(status, { location: other.url }).end(),
    );
    const error: unknown = await createSend()(server.url, { json: {} }, callOf()).catch(
      (e: unknown) => e,
    );
    expect(error).toBeInstanceOf(ReplyError);
    expect([(error as ReplyError).status, server.arrived.length]).toEqual([status, 1]);
  }
  expect(other.arrived).toEqual([]);
});

it("compressed bytes stay as they came, beside the field that says so", async () => {
  const bytes = gzipSync('{"id":"1"}');
  const server = await serve((response) =>
    response.writeHead(200, { "content-encoding": "gzip" }).end(bytes),
  );
  const reply = await createSend()(server.url, {}, callOf());
  expect(Buffer.from(bytesOf(reply.body) ?? []).equals(bytes)).toBe(true);
  expect(reply.headers).toContainEqual(["content-encoding", "gzip"]);
});

it("a reply larger than is read is a success all the same, without its body", async () => {
  const server = await serve((response) => response.writeHead(201).end("x".repeat(100_000)));
  const reply = await createSend({ maxReplyBytes: 1000 })(server.url, {}, callOf());
  expect([reply.status, reply.body]).toEqual([
    201,
    { omitted: { reason: "it is larger than is read" } },
  ]);
  expect(textOf(reply)).toBeUndefined();
});

/** In flight at first, then done. */
const inFlight =
  (after: string | undefined, status = 409): Answer =>
  (response, count, request) => {
    if (count > 1) return created(response, count, request);
    response.writeHead(status, after === undefined ? {} : { "retry-after": after }).end();
  };

it.each([409, 425, 429, 503])(
  "%i with Retry-After is asked again under the same key, byte for byte, if the server takes keys atomically",
  async (status) => {
    const server = await serve(inFlight("0", status));
    const reply = await createSend({ resends: true })(server.url, { json: { n: 1 } }, callOf());
    expect(reply.status).toBe(201);
    const [one, two] = server.arrived;
    expect(server.arrived).toHaveLength(2);
    expect(two).toEqual(one);
  },
);

it.each([
  ["without `resends`", { resends: false }, "0", 409],
  ["without Retry-After", { resends: true }, undefined, 409],
  ["with a date in Retry-After", { resends: true }, "Tue, 01 Dec 2026 10:00:00 GMT", 409],
  ["for another status", { resends: true }, "0", 500],
])("%s, a reply is not asked again", async (_name, options, after, status) => {
  const server = await serve(inFlight(after, status));
  await expect(createSend(options)(server.url, {}, callOf())).rejects.toBeInstanceOf(ReplyError);
  expect(server.arrived).toHaveLength(1);
});

it("past the send deadline the first reply stands, and is not taken for nothing sent", async () => {
  const server = await serve(inFlight("0"));
  const asked = { count: 0 };
  const call = callOf({
    beforeWrite: () => {
      asked.count += 1;
      if (asked.count > 1) throw new Error("the send deadline had passed");
    },
  });
  const error: unknown = await createSend({ resends: true })(server.url, {}, call).catch(
    (e: unknown) => e,
  );
  expect(error).toMatchObject({ name: "ReplyError", status: 409, sends: 1 });
  expect([asked.count, server.arrived.length, call.unsent.length]).toEqual([2, 1, 0]);
});

it("after a resend, a refusal proves nothing: the first send may have landed", async () => {
  const server = await serve((response, count) => {
    if (count === 1) response.writeHead(503, { "retry-after": "0" }).end();
    else response.writeHead(402).end();
  });
  const error: unknown = await createSend({ resends: true })(server.url, {}, callOf()).catch(
    (e: unknown) => e,
  );
  expect(error).toMatchObject({ status: 402, sends: 2 });
  expect(classifyReplies({ definitive: [402] })(error)).toBe("unknown");
});

it("a reply proves what the provider's documentation says, and nothing without it", async () => {
  const kept = { definitive: [400, 402], notExecuted: [429, 503] };
  const told: Record<string, string> = {};
  const server = await serve((response, count) =>
    response.writeHead([400, 402, 403, 409, 429, 500, 503][count - 1] ?? 200).end(),
  );
  const send = createSend();
  for (let count = 1; count <= 7; count += 1) {
    const error: unknown = await send(server.url, {}, callOf()).catch((e: unknown) => e);
    told[String((error as ReplyError).status)] =
      `${classifyReplies()(error)} ${classifyReplies(kept)(error)}`;
  }
  expect(told).toEqual({
    400: "unknown definitive",
    402: "unknown definitive",
    403: "unknown unknown",
    409: "unknown unknown",
    429: "unknown not-executed",
    500: "unknown unknown",
    503: "unknown not-executed",
  });
});

it.each([
  ...[200, 307, 408, 409, 410, 422, 425, 500, 503].map((status) => ["definitive", status] as const),
  ...[200, 408, 409, 422, 500, 504].map((status) => ["notExecuted", status] as const),
])("a contract can't claim %s for a %i", (claim, status) => {
  try {
    classifyReplies({ [claim]: [status] });
    expect.unreachable();
  } catch (error) {
    expect(isNeverTwiceError(error, "CONFIGURATION_INVALID")).toBe(true);
  }
});

it("without undici's Agent there is no fetch", () => {
  expect(() => createIdempotentFetch({} as never)).toThrowError(/`Agent` is missing/);
});
