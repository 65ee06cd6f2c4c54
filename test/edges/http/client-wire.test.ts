/**
 * What connections, servers and agents may do to one send: it goes out once, and what is told of it is
 * true. Only a `Retry-After` that is due inside the send deadline is followed, under the same key.
 */
import type { ServerResponse } from "node:http";
import { Agent, interceptors } from "undici";
import { expect, it } from "vitest";
import {
  ReplyError,
  type SendCall,
  classifyReplies,
  problemTable,
} from "../../../src/edges/http/index.ts";
import { storeBytes } from "../../../src/edges/http/stored-response.ts";
import {
  type Answer,
  NotSent,
  type TestServer,
  callOf,
  created,
  createSend,
  serve,
} from "./client-bench.ts";
import { gate } from "./world.ts";

/** How a send ended, in one word. */
async function toldBy(sending: Promise<{ readonly status: number }>): Promise<string> {
  try {
    return String((await sending).status);
  } catch (error) {
    if (error instanceof NotSent) return "not sent";
    return error instanceof ReplyError ? `reply ${error.status} of ${error.sends}` : "unknown";
  }
}

/** A reply is told a turn before its connection may be taken again. */
const connectionsAreFree = (): Promise<unknown> => new Promise((resolve) => setImmediate(resolve));

it("two sends at once are never on one connection, and a later one takes a free one", async () => {
  const held: ServerResponse[] = [];
  const both = gate();
  const server = await serve((response, count, request) => {
    if (count > 2) return created(response, count, request);
    held.push(response);
    if (held.length === 2) both.open();
  });
  const send = createSend();
  const sending = [send(server.url, {}, callOf()), send(server.url, {}, callOf())];
  await both.wait;
  expect([server.arrived.length, server.connections.count]).toEqual([2, 2]);
  for (const response of held) response.writeHead(201).end();
  await Promise.all(sending);
  await connectionsAreFree();
  await send(server.url, {}, callOf());
  expect([server.arrived.length, server.connections.count]).toEqual([3, 2]);
});

it.each(["POST", "PUT", "DELETE", "PATCH"])(
  "a kept connection that is reset by the bytes of a %s leaves the outcome unknown: no second send",
  async (method) => {
    const server = await serve((response, count, request) => {
      if (count === 1) created(response, count, request);
      else request.socket.resetAndDestroy();
    });
    const send = createSend({ resends: true });
    const call = callOf();
    expect(await toldBy(send(server.url, { method }, call))).toBe("201");
    await connectionsAreFree();
    expect(await toldBy(send(server.url, { method }, call))).toBe("unknown");
    await send.close();
    expect([server.arrived.length, server.connections.count, call.unsent]).toEqual([2, 1, []]);
  },
);

const strange: readonly (readonly [name: string, answer: Answer, told: string])[] = [
  [
    "a chunked body that ends early",
    (response) => {
      response.writeHead(201);
      response.write("12345");
      setImmediate(() => response.destroy());
    },
    "unknown",
  ],
  [
    "headers that end early",
    (_response, _count, { socket }) => void socket.end("HTTP/1.1 201 Created\r\nx-a: 1"),
    "unknown",
  ],
  [
    "a change of protocol that nobody asked for",
    (_response, _count, { socket }) =>
      void socket.end(
        "HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n",
      ),
    "unknown",
  ],
  [
    "an early hint before the answer",
    (response, count, request) =>
      response.writeEarlyHints({ link: "</a>; rel=preload" }, () =>
        created(response, count, request),
      ),
    "201",
  ],
  [
    "nothing but an early hint",
    (response, _count, { socket }) =>
      response.writeEarlyHints({ link: "</a>; rel=preload" }, () => socket.end()),
    "unknown",
  ],
  [
    "two answers to one request",
    (_response, _count, { socket }) =>
      void socket.end(
        "HTTP/1.1 402 Declined\r\ncontent-length: 0\r\n\r\nHTTP/1.1 201 Created\r\ncontent-length: 0\r\n\r\n",
      ),
    "reply 402 of 1",
  ],
];

it.each(strange)("%s: it is sent once, and told as it is", async (_name, answer, told) => {
  const server = await serve(answer);
  const call = callOf();
  const send = createSend({ resends: true });
  expect(await toldBy(send(server.url, { json: {} }, call))).toBe(told);
  await send.close();
  expect([server.arrived.length, call.unsent]).toEqual([1, []]);
});

it("a large body of which the server reads the first bytes is not called unsent", async () => {
  const server = await serve(created);
  const cut = gate();
  server.onRequest = ({ socket }) => {
    socket.once("data", () => {});
    socket.resetAndDestroy();
    cut.open();
  };
  const call = callOf();
  const send = createSend({ resends: true });
  const sending = toldBy(send(server.url, { body: new Uint8Array(20_000_000) }, call));
  await cut.wait;
  expect(await sending).toBe("unknown");
  await send.close();
  expect([server.arrived.length, server.connections.count, call.unsent]).toEqual([0, 1, []]);
});

it("a fetch that was closed writes nothing, and says so", async () => {
  const server = await serve(created);
  const send = createSend();
  await send.close();
  const call = callOf();
  expect(await toldBy(send(server.url, {}, call))).toBe("not sent");
  expect([server.arrived.length, call.unsent.length]).toEqual([0, 1]);
});

it.each([
  ["expect: 100-continue", { expect: "100-continue" }],
  ["a length that isn't the body's", { "content-length": "3" }],
  ["a transfer coding of its own", { "transfer-encoding": "chunked" }],
])("a request with %s is refused before anything is written", async (_name, headers) => {
  const server = await serve(created);
  const call = callOf();
  expect(await toldBy(createSend()(server.url, { headers, body: "12345" }, call))).toBe("not sent");
  expect([server.arrived.length, call.unsent.length]).toEqual([0, 1]);
});

/** An agent that sends again by itself, as applications compose them. */
function composed(interceptor: Parameters<Agent["compose"]>[0]): typeof Agent {
  const compose = function (options: Agent.Options) {
    return new Agent(options).compose(interceptor);
  };
  return compose as unknown as typeof Agent;
}

it.each([
  ["retries a 503", interceptors.retry({ minTimeout: 1, maxTimeout: 1, maxRetries: 2 }), 503],
  ["follows a 307", interceptors.redirect({ maxRedirections: 2 }), 307],
  ["follows a 308", interceptors.redirect({ maxRedirections: 2 }), 308],
])("an agent that %s by itself can't write a second time", async (_name, interceptor, status) => {
  const other = await serve(created);
  const server = await serve((response) =>
    response.writeHead(status, { location: other.url }).end(),
  );
  const call = callOf();
  const send = createSend({ Agent: composed(interceptor) });
  expect(await toldBy(send(server.url, { method: "PUT", json: {} }, call))).toBe("unknown");
  expect([server.arrived.length, other.arrived, call.unsent]).toEqual([1, [], []]);
});

/** In flight for ever; says when to come again. */
async function busy(after: string | readonly string[], status = 409): Promise<TestServer> {
  return serve((response) => response.writeHead(status, { "retry-after": after as string }).end());
}

it.each([
  ["a negative span", "-1"],
  ["a fraction", "0.5"],
  ["an exponent", "1e0"],
  ["no number", "soon"],
  ["nothing", ""],
  ["a date that has passed", "Tue, 01 Dec 2020 10:00:00 GMT"],
  ["a date far ahead", "Fri, 31 Dec 2100 23:59:59 GMT"],
  ["two fields", ["0", "0"]],
  ["more than the send deadline", "3"],
  ["eleven days", "999999"],
  ["more than a timer holds", "99999999999"],
] as const)("with %s in Retry-After the reply stands at once", async (_name, after) => {
  const server = await busy(after);
  const call = callOf();
  const sending = createSend({ resends: true })(server.url, {}, call);
  expect(await toldBy(sending)).toBe("reply 409 of 1");
  expect(server.arrived).toHaveLength(1);
});

it("withdrawn while it waits for Retry-After, the first reply stands, and nothing follows", async () => {
  const caller = new AbortController();
  const server = await busy("30");
  // Asked for when the reply is there and the wait is to begin.
  const call = Object.defineProperty(callOf({ signal: caller.signal }), "sendWithinMs", {
    get: () => {
      setImmediate(() => caller.abort());
      return 60_000;
    },
  });
  const send = createSend({ resends: true });
  expect(await toldBy(send(server.url, {}, call))).toBe("reply 409 of 1");
  await send.close();
  expect([server.arrived.length, call.unsent]).toEqual([1, []]);
});

it("asks again as often as it is told to, until the deadline says no", async () => {
  const server = await busy("0", 425);
  const left = { writes: 4 };
  const call: SendCall = callOf({
    beforeWrite: () => {
      left.writes -= 1;
      if (left.writes < 0) throw new Error("the send deadline had passed");
    },
  });
  const sending = createSend({ resends: true })(server.url, { json: { n: 1 } }, call);
  expect(await toldBy(sending)).toBe("reply 425 of 4");
  expect(server.arrived).toEqual(server.arrived.map(() => server.arrived[0]));
  expect(server.arrived).toHaveLength(4);
});

it("of our own server's problems, those prove something by which it says that it ran nothing", () => {
  const proved = Object.entries(problemTable).map(([name, { status, code }]) => {
    const body = storeBytes(Buffer.from(JSON.stringify({ code, status })));
    const headers = [["content-type", "application/problem+json"]] as const;
    const error = new ReplyError({ v: 1, status, headers, body });
    return [name, classifyReplies({ isNeverTwice: true })(error)];
  });
  expect(Object.fromEntries(proved)).toEqual({
    "key-missing": "definitive",
    "key-malformed": "definitive",
    "body-too-large": "definitive",
    "unsupported-argument": "definitive",
    "arguments-invalid": "definitive",
    "intent-invalid": "definitive",
    "payload-mismatch": "unknown",
    "key-expired": "unknown",
    "in-progress": "unknown",
    "lease-lost": "unknown",
    "needs-review": "unknown",
    "operation-failed": "definitive",
    "outcome-unknown": "unknown",
    "not-sent": "not-executed",
    "store-unavailable": "not-executed",
    "record-corrupt": "unknown",
  });
});

it("a code that is none of ours is the handler's, and its status proves what it is said to prove", () => {
  const told = ["card_declined", "constructor", "toString"].map((code) => {
    const body = storeBytes(Buffer.from(JSON.stringify({ code })));
    const headers = [["content-type", "application/json"]] as const;
    const error = new ReplyError({ v: 1, status: 402, headers, body });
    return [{ definitive: [402] }, {}].map((classes) =>
      classifyReplies({ isNeverTwice: true, ...classes })(error),
    );
  });
  expect(told).toEqual(told.map(() => ["definitive", "unknown"]));
});
