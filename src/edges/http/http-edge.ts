/**
 * Routes under an idempotency key: a request is one call of a tool that the edge makes, and its intent
 * is principal, method, concrete path and key.
 *
 * Follows draft-ietf-httpapi-idempotency-key-header-07. Newer revisions exist; we have not read them.
 * https://datatracker.ietf.org/doc/draft-ietf-httpapi-idempotency-key-header/07/
 *
 * @module
 */
import { isNeverTwiceError } from "../../base/errors.ts";
import type { RegisteredTransactTool } from "../../effects/transact.ts";
import type { Outcome } from "../../guard/answers.ts";
import type { LookUpAnswer, LookUpContract } from "../../guard/contract.ts";
import { defineTool } from "../../guard/define-tool.ts";
import type { ExecuteCall, Tool } from "../../guard/tool.ts";
import { checkedId, checkedText } from "../../intent/intent.ts";
import { errorResponse, outcomeResponse, refusalResponse } from "./answers.ts";
import { type CaptureRule, captureResponse } from "./capture-response.ts";
import {
  type Exchange,
  type Exchanges,
  type Handler,
  classifyThrown,
  createExchanges,
  declarations,
  refusalOf,
  requestWith,
} from "./handler.ts";
import { keyHeader, readKey } from "./key-header.ts";
import {
  type HttpLookUp,
  type HttpOptions,
  type RouteOptions,
  checkHttpOptions,
  checkRouteOptions,
  guardOf,
  maxResponseBytesOf,
  retentionMsOf,
  settlesByDefault,
} from "./options.ts";
import {
  type PolicyDocument,
  type RegisteredRoute,
  fingerprintOfPolicy,
  policyDocument,
} from "./policy.ts";
import { type ProblemStyle, keyMalformed, keyMissing } from "./problems.ts";
import { type HttpArguments, argumentsOf, readBody } from "./request-body.ts";
import { type StoredResponse, defaultReplayHeaders } from "./stored-response.ts";

/** A route under the guard. The adapters make a framework's handler of it. */
export interface HttpRoute<Context> {
  readonly name: string;
  /** For `createGuard({ tools })`, so that the sweeper looks up what nobody asks for again. */
  readonly tool: Tool<StoredResponse>;
  readonly maxBodyBytes: number;
  /** Answers one request. Rejects only with what `tenant`, `principal`, `check` or an unguarded handler threw. */
  handle(request: Request, context: Context): Promise<Response>;
}

/** The edge of one service. */
export interface HttpEdge<Context> {
  /** Puts a handler under the guard. Throws TOOL_INVALID or CONFIGURATION_INVALID. */
  route(options: RouteOptions<Context>, handler: Handler<Context>): HttpRoute<Context>;
  /** The policy as it stands: what `policyUrl` should serve. */
  policy(): PolicyDocument;
  /** The policy as a response. */
  policyResponse(): Response;
}

/**
 * Sets up the edge.
 *
 * @throws {NeverTwiceError} CONFIGURATION_INVALID, when tenant or principal has no function above all.
 *
 * @example
 * const http = createHttpEdge<Context>({
 *   guard: () => guard, tenant: () => "acme", principal: (_, c) => c.get("userId"),
 *   policyUrl: "/idempotency",
 * });
 * const refunds = http.route(
 *   { name: "refunds.create", key: "required", contract: { timeoutMs: 30_000, flightMs: 60_000 } },
 *   async (request, { operation }) => Response.json(await refund(await request.json()), { status: 201 }),
 * );
 */
export function createHttpEdge<Context = undefined>(
  options: HttpOptions<Context>,
): HttpEdge<Context> {
  checkHttpOptions(options);
  const style: ProblemStyle = { policyUrl: options.policyUrl, changes: options.problems ?? {} };
  const told: RegisteredRoute[] = [];
  const policy = (): PolicyDocument =>
    policyDocument(
      style,
      { keyForms: options.keyForms ?? "quoted-or-bare", retentionMs: retentionMsOf(options) },
      told,
    );
  return {
    route: (route, handler) => {
      checkRouteOptions(route);
      const parts = routeParts(options, style, route, handler);
      told.push(registeredRoute(parts));
      return {
        name: route.name,
        tool: parts.tool,
        maxBodyBytes: parts.maxBodyBytes,
        handle: (request, context) => handle(parts, request, context),
      };
    },
    policy,
    policyResponse: () =>
      Response.json(policy(), { headers: { "cache-control": "public, max-age=300" } }),
  };
}

/** A route with its defaults filled in. */
interface RouteParts<Context> {
  readonly edge: HttpOptions<Context>;
  readonly style: ProblemStyle;
  readonly options: RouteOptions<Context>;
  readonly handler: Handler<Context>;
  readonly capture: CaptureRule;
  readonly maxBodyBytes: number;
  readonly exchanges: Exchanges;
  readonly tool: Tool<StoredResponse>;
}

function routeParts<Context>(
  edge: HttpOptions<Context>,
  style: ProblemStyle,
  options: RouteOptions<Context>,
  handler: Handler<Context>,
): RouteParts<Context> {
  const { replayHeaders = [] } = options;
  const names = [...defaultReplayHeaders, ...replayHeaders.map((name) => name.toLowerCase())];
  const capture: CaptureRule = {
    headers: [...new Set(names)],
    maxBytes: maxResponseBytesOf(options),
  };
  const exchanges = createExchanges({
    // An exchange carries the context of the request that this very route was given.
    handler: handler as Handler<unknown>,
    capture,
    storeStatus: options.storeStatus ?? settlesByDefault,
    timeoutMs: options.contract.timeoutMs,
  });
  return {
    edge,
    style,
    options,
    handler,
    capture,
    maxBodyBytes: options.maxBodyBytes ?? 1024 * 1024,
    exchanges,
    tool: routeTool(options, capture, exchanges),
  };
}

/** Arguments come from this edge alone, and are plain JSON when they come. */
const anyArguments = {
  "~standard": {
    version: 1,
    vendor: "nevertwice",
    validate: (value: unknown) => ({ value: value as HttpArguments }),
  },
} as const;

function routeTool<Context>(
  options: RouteOptions<Context>,
  capture: CaptureRule,
  exchanges: Exchanges,
): Tool<StoredResponse> {
  const { lookUp, ...promised } = options.contract;
  return defineTool<HttpArguments, "method" | "path" | "query" | "body", StoredResponse>({
    name: options.name,
    kind: "non-idempotent",
    arguments: anyArguments,
    intent: ({ args, trusted }) => ({
      principal: trusted["principal"] ?? null,
      method: args.method,
      path: args.path,
      key: trusted["key"] ?? null,
    }),
    businessArguments: ["method", "path", "query", "body"],
    contract: {
      ...promised,
      ...(lookUp === undefined ? {} : { lookUp: lookUpContract(lookUp, capture) }),
      classify: classifyThrown,
      // Room for the longest spelling of the body in JSON (six characters a byte), and for the fields.
      maxResultBytes: capture.maxBytes * 6 + 64 * 1024,
    },
    ...(options.lookAlike === undefined ? {} : { lookAlike: options.lookAlike }),
    execute: (args, call: ExecuteCall) => exchanges.execute(args, call),
  });
}

function lookUpContract(
  lookUp: HttpLookUp,
  capture: CaptureRule,
): LookUpContract<HttpArguments, StoredResponse> {
  return {
    ...lookUp,
    find: async (question): Promise<LookUpAnswer<StoredResponse>> => {
      const answer = await lookUp.find(question);
      if (answer?.answer !== "found") return answer;
      const effects = answer.effects.map(async ({ response, ...effect }) => {
        const { stored } = await captureResponse(response, capture);
        return { ...effect, result: stored };
      });
      return { answer: "found", effects: await Promise.all(effects) };
    },
  };
}

function registeredRoute<Context>(parts: RouteParts<Context>): RegisteredRoute {
  const { options, capture, maxBodyBytes } = parts;
  return {
    name: options.name,
    key: options.key,
    fingerprint: fingerprintOfPolicy(options.fingerprint ?? {}),
    replayedHeaders: capture.headers,
    maxBodyBytes,
    maxStoredBytes: capture.maxBytes,
    retentionMs: options.transact?.retentionMs,
  };
}

/** Safe by definition (RFC 9110, section 9.2.1): a key on them means nothing. */
const safeMethods = new Set(["GET", "HEAD", "OPTIONS"]);

async function handle<Context>(
  parts: RouteParts<Context>,
  request: Request,
  context: Context,
): Promise<Response> {
  const { edge, style, options } = parts;
  const read = readKey(request.headers.get(keyHeader), edge.keyForms);
  const free = read.kind === "missing" && options.key === "optional";
  if (free || safeMethods.has(request.method)) return runFree(parts, request, context);
  try {
    if (read.kind === "missing") throw keyMissing();
    if (read.kind === "malformed") throw keyMalformed(read.reason);
    return described(style, await runKeyed(parts, request, context, read.key));
  } catch (error) {
    if (!isNeverTwiceError(error)) throw error;
    return described(style, errorResponse(error, style));
  }
}

async function runKeyed<Context>(
  parts: RouteParts<Context>,
  request: Request,
  context: Context,
  key: string,
): Promise<Response> {
  const { edge, options, maxBodyBytes } = parts;
  const bytes = await readBody(request, maxBodyBytes);
  const args = argumentsOf(request, bytes, options.fingerprint ?? {});
  const again = (): Request => requestWith(request, bytes, request.signal);
  const refused = await options.check?.(again(), context);
  if (refused !== undefined) return refused;
  const principal = checkedText(await edge.principal(again(), context), "principal");
  const tenant = checkedId(await edge.tenant(again(), context), "tenant");
  const exchange: Exchange = {
    request,
    bytes,
    context,
    principal,
    idempotencyKey: key,
    arguments: args,
    seen: { ran: false, open: true },
  };
  return runExchange(parts, exchange, tenant);
}

/** The client's own signal stays out of it: who hangs up after the claim cancels nothing. */
async function runExchange<Context>(
  parts: RouteParts<Context>,
  exchange: Exchange,
  tenant: string,
): Promise<Response> {
  const { style, exchanges } = parts;
  const run = runOf(parts);
  try {
    const outcome = await exchanges.during(exchange, () => run(exchange, tenant));
    return outcomeResponse(outcome, exchange, style);
  } catch (error) {
    if (isNeverTwiceError(error)) return errorResponse(error, style, exchange);
    const { rolledBack } = exchange.seen;
    if (rolledBack !== undefined) return rolledBack;
    const told = refusalOf(error);
    if (told === undefined) throw error;
    return refusalResponse(told.refusal);
  }
}

type Run = (exchange: Exchange, tenant: string) => Promise<Outcome<StoredResponse>>;

/** Under the guard, or in a transaction of the application's. */
function runOf<Context>(parts: RouteParts<Context>): Run {
  const { edge, options, tool, exchanges } = parts;
  const { transact, onInProgress = "conflict" } = options;
  const trustedOf = ({ principal, idempotencyKey }: Exchange): Record<string, string> => ({
    principal,
    key: idempotencyKey,
  });
  if (transact === undefined) {
    const guard = guardOf(edge);
    return (exchange, tenant) =>
      guard.run(tool, exchange.arguments, { tenant, trusted: trustedOf(exchange), onInProgress });
  }
  const inside: RegisteredTransactTool<StoredResponse, unknown> = {
    name: tool.name,
    tool,
    execute: (args, transaction) => exchanges.executeInside(args as HttpArguments, transaction),
  };
  return async (exchange, tenant) => {
    const context = { tenant, trusted: trustedOf(exchange) };
    try {
      return await transact(inside, exchange.arguments, context);
    } catch (error) {
      const told = refusalOf(error);
      if (told?.proves !== "definitive") throw error;
      // The claim was rolled back with the handler's writes, so the refusal is recorded by itself.
      const captured = await captureResponse(refusalResponse(told.refusal), parts.capture);
      exchange.seen.captured = captured;
      return transact({ ...inside, execute: () => captured.stored }, exchange.arguments, context);
    }
  };
}

/** Unguarded: no key where none is needed, or a method that changes nothing. */
async function runFree<Context>(
  parts: RouteParts<Context>,
  request: Request,
  context: Context,
): Promise<Response> {
  try {
    return await parts.handler(request, { ...declarations, context, operation: null });
  } catch (error) {
    const told = refusalOf(error);
    if (told === undefined) throw error;
    return refusalResponse(told.refusal);
  }
}

/** Tells where the policy is (RFC 8288). */
function described(style: ProblemStyle, response: Response): Response {
  const { status, body } = response;
  const headers = new Headers(response.headers);
  headers.append("link", `<${style.policyUrl}>; rel="describedby"`);
  return new Response(body, { status, headers });
}
