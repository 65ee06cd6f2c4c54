/**
 * `nevertwice/http`: the Idempotency-Key header, for servers and for clients.
 *
 * @module
 */
export { type HttpEdge, type HttpRoute, createHttpEdge } from "./http-edge.ts";
export type {
  FoundResponse,
  HttpContract,
  HttpLookUp,
  HttpLookUpAnswer,
  HttpOptions,
  RouteOptions,
} from "./options.ts";
export type { Handler, HandlerCall, HandlerOperation, Refusal } from "./handler.ts";
export type { FingerprintRule, HttpArguments, RequestBody } from "./request-body.ts";
export {
  type ProblemChanges,
  type ProblemEntry,
  type ProblemName,
  problemTable,
} from "./problems.ts";
export type { PolicyDocument, PolicyRoute } from "./policy.ts";

export { type NodeHandler, type NodeHandlerOptions, nodeHandler } from "./adapters/node.ts";
export { type ExpressHandler, type ExpressRequest, expressHandler } from "./adapters/express.ts";
export {
  type FastifyReplyLike,
  type FastifyRequestLike,
  type FastifyScope,
  fastifyRoute,
} from "./adapters/fastify.ts";
export { type HonoContext, honoHandler } from "./adapters/hono.ts";

export {
  type IdempotentFetch,
  type IdempotentFetchOptions,
  type IdempotentRequest,
  type SendCall,
  createIdempotentFetch,
} from "./client/idempotent-fetch.ts";
export { type ReplyClasses, ReplyError, classifyReplies } from "./client/reply-error.ts";
export type { ControllerLike, DispatchHandlerLike, DispatcherLike } from "./client/exchange.ts";

export {
  type KeyForm,
  type KeyForms,
  type ReadKey,
  keyHeader,
  maxKeyLength,
  readKey,
  writeKey,
} from "./key-header.ts";
export {
  type OmittedBody,
  type StoredBody,
  type StoredResponse,
  bytesOf,
  defaultReplayHeaders,
  neverReplayed,
  textOf,
} from "./stored-response.ts";
