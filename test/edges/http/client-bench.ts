/** A server that says what arrived at it, and a call without a guard: what tests of the fetch share. */
import { type IncomingMessage, type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Agent } from "undici";
import { onTestFinished } from "vitest";
import {
  type IdempotentFetch,
  type IdempotentFetchOptions,
  type SendCall,
  createIdempotentFetch,
} from "../../../src/edges/http/index.ts";
import { listening } from "./servers.ts";

export interface Arrived {
  readonly method: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

export interface TestServer {
  readonly url: string;
  readonly arrived: Arrived[];
  readonly connections: { count: number };
  /** In place of reading the request's body. */
  onRequest?: (request: IncomingMessage) => void;
}

export type Answer = (response: ServerResponse, count: number, request: IncomingMessage) => void;

/** Records each whole request, then answers. */
export async function serve(answer: Answer): Promise<TestServer> {
  const arrived: Arrived[] = [];
  const connections = { count: 0 };
  const server = createServer((request, response) => {
    if (served.onRequest !== undefined) return served.onRequest(request);
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const { method = "", headers } = request;
      arrived.push({ method, headers, body: Buffer.concat(chunks).toString() });
      answer(response, arrived.length, request);
    });
  });
  server.on("connection", () => {
    connections.count += 1;
  });
  await listening(server);
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const served: TestServer = { url: `http://127.0.0.1:${port}/`, arrived, connections };
  return served;
}

/** A fetch of its own, closed after the test unless the test has closed it. */
export function createSend(options: Partial<IdempotentFetchOptions> = {}): IdempotentFetch {
  const send = createIdempotentFetch({ Agent, ...options });
  onTestFinished(() => send.close().catch(() => {}));
  return send;
}

/** What `callOf` says where nothing was written. */
export class NotSent extends Error {}

/** A call as the guard makes it; `unsent` collects what it was told. */
export function callOf(change: Partial<SendCall> = {}): SendCall & { readonly unsent: unknown[] } {
  const unsent: unknown[] = [];
  return {
    wireKey: "5f2c8f6e-0000-5000-8000-000000000001",
    signal: new AbortController().signal,
    beforeWrite: () => {},
    sendWithinMs: 2000,
    notSent: (cause) => {
      unsent.push(cause);
      return new NotSent("nothing was written", { cause });
    },
    unsent,
    ...change,
  };
}

/** A success. */
export const created: Answer = (response) => {
  response.writeHead(201, { "content-type": "application/json", location: "/r/1" });
  response.end('{"id":"1"}');
};
