/**
 * Routes on Hono, on every runtime that has AsyncLocalStorage.
 *
 * @module
 */
import type { HttpRoute } from "../http-edge.ts";

/** What is needed of Hono's context. */
export interface HonoContext {
  readonly req: { readonly raw: Request };
}

/**
 * Makes a Hono handler of a route.
 *
 * @example
 * app.post("/refunds", honoHandler(refunds));
 */
export function honoHandler<Context extends HonoContext>(
  route: HttpRoute<Context>,
): (context: Context) => Promise<Response> {
  return (context) => route.handle(context.req.raw, context);
}
