/**
 * Routes on a plain `node:http` server.
 *
 * @module
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { HttpRoute } from "../http-edge.ts";
import { alreadyRead } from "../request-body.ts";

/** Answers a request of `node:http`. Never rejects. */
export type NodeHandler = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

/** What else a handler of `node:http` may be told. */
export interface NodeHandlerOptions {
  /** Told of what `tenant`, `principal`, `check` or an unguarded handler threw; the caller gets a 500. */
  readonly onError?: (error: unknown) => void;
}

/**
 * Makes a request listener of a route.
 *
 * @example
 * createServer((request, response) => void nodeHandler(refunds)(request, response));
 */
export function nodeHandler(
  route: HttpRoute<IncomingMessage>,
  options: NodeHandlerOptions = {},
): NodeHandler {
  return async (incoming, outgoing) => {
    try {
      await writeResponse(await route.handle(toRequest(incoming), incoming), outgoing);
    } catch (error) {
      options.onError?.(error);
      if (outgoing.headersSent) outgoing.destroy();
      else outgoing.writeHead(500).end();
    }
  };
}

/** Where a request's body is, when it is not in the request's own stream. */
export interface RequestParts {
  readonly url?: string | undefined;
  readonly body?: Readable | Uint8Array | string | undefined;
}

/** The web-standard form of a request. Its body is read when the route asks for it. */
export function toRequest(incoming: IncomingMessage, parts: RequestParts = {}): Request {
  const { method = "GET" } = incoming;
  const headers = new Headers();
  for (let index = 0; index < incoming.rawHeaders.length; index += 2)
    headers.append(incoming.rawHeaders[index] ?? "", incoming.rawHeaders[index + 1] ?? "");
  const bodiless = method === "GET" || method === "HEAD";
  const body = bodiless ? null : bodyOf(parts.body ?? incoming);
  return new Request(urlOf(incoming, parts.url ?? incoming.url ?? "/"), {
    method,
    headers,
    ...(body === null ? {} : { body, duplex: "half" as const }),
  });
}

/** The request's target is put behind the host as it stands: `//other/path` is a path. */
function urlOf(incoming: IncomingMessage, target: string): string {
  if (/^https?:\/\//i.test(target)) return target;
  const path = target.startsWith("/") ? target : "/";
  const scheme = "encrypted" in incoming.socket ? "https" : "http";
  const host = `${scheme}://${incoming.headers.host ?? "localhost"}`;
  return `${URL.canParse(host) ? host : `${scheme}://localhost`}${path}`;
}

function bodyOf(
  source: Readable | Uint8Array | string,
): string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array> {
  if (typeof source === "string") return source;
  if (source instanceof Uint8Array) return new Uint8Array(source);
  // One that was consumed looks like an empty one, and would have an empty one's fingerprint.
  const consumed = source.readableDidRead;
  const chunks = source.iterator({ destroyOnReturn: false });
  return new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      if (consumed) throw alreadyRead();
      const { done, value } = (await chunks.next()) as IteratorResult<Uint8Array>;
      if (done === true) controller.close();
      else controller.enqueue(new Uint8Array(value));
    },
    cancel: async () => {
      await chunks.return?.();
    },
  });
}

/** Writes a response. A caller that has gone is none of the handler's business any more. */
export async function writeResponse(response: Response, outgoing: ServerResponse): Promise<void> {
  outgoing.statusCode = response.status;
  for (const [name, value] of response.headers) {
    if (name !== "set-cookie") outgoing.setHeader(name, value);
  }
  const cookies = response.headers.getSetCookie();
  if (cookies.length > 0) outgoing.setHeader("set-cookie", cookies);
  if (response.body === null) {
    outgoing.end();
    return;
  }
  try {
    await pipeline(Readable.fromWeb(response.body as never), outgoing);
  } catch {
    // The caller hung up, or a body that is not stored broke off: the connection ends, nothing else.
    outgoing.destroy();
  }
}
