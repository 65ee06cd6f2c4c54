/**
 * Routes on Express 5 (and whatever has its signature).
 *
 * @module
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { HttpRoute } from "../http-edge.ts";
import { toRequest, writeResponse } from "./node.ts";

/** What is needed of Express's request. */
export interface ExpressRequest extends IncomingMessage {
  readonly originalUrl: string;
}

/** A handler for `app.post(path, …)`. What can't be answered goes to `next`. */
export type ExpressHandler<Req extends ExpressRequest> = (
  request: Req,
  response: ServerResponse,
  next: (error?: unknown) => void,
) => Promise<void>;

/**
 * Makes an Express handler of a route. Put it before `express.json()`: the fingerprint needs the
 * bytes. Where a parser must come first, let its `verify` keep them as `request.rawBody`.
 *
 * @example
 * app.post("/refunds", expressHandler(refunds));
 */
export function expressHandler<Req extends ExpressRequest>(
  route: HttpRoute<Req>,
): ExpressHandler<Req> {
  return async (incoming, outgoing, next) => {
    try {
      const request = toRequest(incoming, { url: incoming.originalUrl, body: rawBodyOf(incoming) });
      await writeResponse(await route.handle(request, incoming), outgoing);
    } catch (error) {
      next(error);
    }
  };
}

function rawBodyOf(incoming: ExpressRequest): Uint8Array | string | undefined {
  const { rawBody } = incoming as { rawBody?: unknown };
  return typeof rawBody === "string" || rawBody instanceof Uint8Array ? rawBody : undefined;
}
