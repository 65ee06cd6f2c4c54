/**
 * Routes on Fastify 5.
 *
 * @module
 */
import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import type { HttpRoute } from "../http-edge.ts";
import { toRequest } from "./node.ts";

/** What is needed of Fastify's request. */
export interface FastifyRequestLike {
  readonly raw: IncomingMessage;
  readonly originalUrl: string;
  readonly body?: unknown;
}

/** What is needed of Fastify's reply. */
export interface FastifyReplyLike {
  code(status: number): unknown;
  header(name: string, value: unknown): unknown;
  send(payload?: unknown): unknown;
}

/** What is needed of a Fastify instance. */
export interface FastifyScope<Req extends FastifyRequestLike> {
  removeAllContentTypeParsers(): void;
  addContentTypeParser(
    type: string,
    parser: (request: Req, payload: Readable, done: (error: null, body: Readable) => void) => void,
  ): unknown;
  route(options: {
    readonly method: string;
    readonly url: string;
    readonly handler: (request: Req, reply: FastifyReplyLike) => Promise<unknown>;
  }): unknown;
}

/**
 * Makes a Fastify plugin of a route. In the plugin's own scope bodies stay unparsed: the fingerprint
 * needs the bytes. Hooks of the application run as for any other route.
 *
 * @example
 * await app.register(fastifyRoute(refunds, { method: "POST", url: "/refunds" }));
 */
export function fastifyRoute<Req extends FastifyRequestLike>(
  route: HttpRoute<Req>,
  where: { readonly method: string; readonly url: string },
): (scope: FastifyScope<Req>) => Promise<void> {
  return async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser("*", (_request, payload, done) => done(null, payload));
    scope.route({ ...where, handler: (request, reply) => answer(route, request, reply) });
  };
}

async function answer<Req extends FastifyRequestLike>(
  route: HttpRoute<Req>,
  incoming: Req,
  reply: FastifyReplyLike,
): Promise<unknown> {
  const { raw, originalUrl, body } = incoming;
  const request = toRequest(raw, {
    url: originalUrl,
    ...(body instanceof Readable ? { body } : {}),
  });
  const response = await route.handle(request, incoming);
  reply.code(response.status);
  for (const [name, value] of response.headers) {
    if (name !== "set-cookie") reply.header(name, value);
  }
  const cookies = response.headers.getSetCookie();
  if (cookies.length > 0) reply.header("set-cookie", cookies);
  return reply.send(await payloadOf(response));
}

/** Whole where its length is known: a stream to a caller who has gone would be an error to Fastify. */
async function payloadOf(response: Response): Promise<Uint8Array | Readable | undefined> {
  if (response.body === null) return undefined;
  return response.headers.has("content-length")
    ? Buffer.from(await response.arrayBuffer())
    : Readable.fromWeb(response.body as never);
}
